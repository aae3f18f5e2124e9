/**
 * A server for other DuckDBs (DuckDB's `quack` protocol). It runs in a separate database in memory, whose views show
 * the published copy, which is attached read-only. So readers can't write, reach files or use the memory of loads. When
 * a new copy is published, one transaction switches the views to it, and sessions continue.
 */
import { copyFile, link, mkdir, realpath, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { asSyncError, SyncError } from '../../errors.ts'
import { makeFolder } from '../../folders.ts'
import type { Secret } from '../../secret.ts'
import { Database } from '../database/duckdb.ts'
import { type Extension, loadExtensions } from '../database/extensions.ts'
import { name, text } from '../database/sql.ts'

export interface LiveServerSettings {
  readonly host: string
  readonly port: number
  /** True if only this machine can reach the server. */
  readonly isLoopback: boolean
  readonly token: Secret
  readonly extensions: string | undefined
  /** Path of the published copy, which is served as soon as it exists. */
  readonly published: string
  /** The memory limit of all readers together, such as `256MB`. */
  readonly memory: string
  readonly threads?: number | undefined
}

/** Extensions in the order of loading: `quack` needs the ciphers of `httpfs`. */
const EXTENSIONS: readonly Extension[] = ['httpfs', 'quack']

/** Number of attached copies. Statements on the previous copy may finish; those on older copies are ended. */
const COPIES_KEPT = 2

export class LiveServer implements AsyncDisposable {
  readonly #database: Database
  readonly #settings: LiveServerSettings
  /** The numbers of the attached copies, the oldest first. */
  #shown: number[] = []
  #number = 0
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(database: Database, settings: LiveServerSettings) {
    this.#database = database
    this.#settings = settings
  }

  /** Starts the server. Throws EXTENSION_MISSING, SERVE_FAILED. */
  static async start(settings: LiveServerSettings): Promise<LiveServer> {
    const folder = folderOf(settings)
    await rm(folder, { recursive: true, force: true })
    makeFolder(folder)
    const { memory, threads } = settings
    const database = await Database.open(':memory:', { memory, threads, spillDirectory: join(folder, 'spill') })
    try {
      await loadExtensions(database, settings.extensions, EXTENSIONS)
      const server = new LiveServer(database, settings)
      await server.show()
      await closeDoors(database, folder)
      await listen(database, settings)
      await database.run('SET lock_configuration = true')
      return server
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /** Serves the newest published copy. Until the first one exists, the server has no tables. */
  show(): Promise<void> {
    const turn = this.#turn.then(() => this.#showNewest())
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async close(): Promise<void> {
    await this.#turn
    await this.#database.run(`CALL quack_stop(${text(uriOf(this.#settings))})`).catch(() => undefined)
    await this.#database.close()
    await rm(folderOf(this.#settings), { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #showNewest(): Promise<void> {
    const number = this.#number + 1
    const file = this.#file(number)
    if (!(await held(this.#settings.published, file))) return
    this.#number = number
    await this.#database.run(`ATTACH ${text(file)} AS ${copyName(number)} (READ_ONLY)`)
    await this.#database.transaction(async (sql) => {
      const shown = await sql.rows<{ schema: string; table: string }>(`
        SELECT schema_name AS "schema", table_name AS "table" FROM duckdb_tables() WHERE database_name = '${copyName(number)}'
        UNION ALL
        SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = '${copyName(number)}' AND NOT internal`)
      for (const schema of new Set(shown.map((each) => each.schema)))
        await sql.run(`CREATE SCHEMA IF NOT EXISTS memory.${name(schema)}`)
      for (const { schema, table } of shown) {
        const place = `${name(schema)}.${name(table)}`
        await sql.run(`CREATE OR REPLACE VIEW memory.${place} AS FROM ${copyName(number)}.${place}`)
      }
    })
    this.#shown.push(number)
    for (const old of this.#shown.splice(0, this.#shown.length - COPIES_KEPT)) {
      await this.#database.run(`DETACH ${copyName(old)}`)
      await rm(this.#file(old), { force: true })
    }
  }

  #file(number: number): string {
    return join(folderOf(this.#settings), `${copyName(number)}.duckdb`)
  }
}

const copyName = (number: number): string => `copy_${number}`

/** Returns the server's own folder, the only one whose files readers can reach. */
const folderOf = ({ published }: LiveServerSettings): string => `${published}.served`

const uriOf = ({ host, port }: LiveServerSettings): string => `quack:${host}:${port}`

/** Links `file` to the present copy, so that the copy survives the next publication. Returns false without a copy. */
async function held(published: string, file: string): Promise<boolean> {
  try {
    await mkdir(dirname(file), { recursive: true })
    // `link` does not follow a symbolic link, so `realpath` finds the file behind it.
    await link(await realpath(published), file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    // Some file systems have no hard links.
    await copyFile(published, file)
  }
  return true
}

/** Functions by which a reading statement could start or stop servers, or run a statement that was not checked. */
const DENIED = 'quack_[a-z_]*|query|query_table|json_execute_serialized_sql'

/**
 * A reader's statement is allowed when DuckDB's parser finds one SELECT that calls no denied function. BEGIN and
 * COMMIT are checked by their text, since the parser does not serialize them.
 */
const RULE = `
  CREATE OR REPLACE MACRO memory.main.may_read(session, statement) AS
    regexp_full_match(statement::VARCHAR, '(?i)\\s*(BEGIN|COMMIT|ROLLBACK|ABORT)(\\s+TRANSACTION)?(\\s+READ ONLY)?\\s*;?\\s*')
    OR coalesce(json_extract_string(json_serialize_sql(statement::VARCHAR), '$.error') = 'false'
      AND NOT regexp_matches(json_serialize_sql(statement::VARCHAR)::VARCHAR, '(?i)"function_name":\\s*"(${DENIED})"'), false)`

async function closeDoors(database: Database, folder: string): Promise<void> {
  await database.run(RULE)
  await database.run(`SET GLOBAL quack_authorization_function = 'may_read'`)
  await database.run(`SET allowed_directories = [${text(folder)}]`)
  await database.run('SET enable_external_access = false')
}

async function listen(database: Database, settings: LiveServerSettings): Promise<void> {
  const { token, isLoopback } = settings
  const options = `token := ${text(token.reveal())}, allow_other_hostname := ${!isLoopback}`
  try {
    await database.run(`CALL quack_serve(${text(uriOf(settings))}, ${options})`)
  } catch (error) {
    const reason = asSyncError(error).message.replaceAll(token.reveal(), '[secret]')
    throw new SyncError('SERVE_FAILED', `${uriOf(settings)} can't be served: ${reason}`, {
      cure: 'End the program that has this port, or set serve to another one.',
      data: { address: uriOf(settings) },
    })
  }
}
