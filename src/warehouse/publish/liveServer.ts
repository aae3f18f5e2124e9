/**
 * A server for other DuckDBs (DuckDB's `quack` protocol), in a database of its own beside the warehouse: a memory
 * database whose views show the published copy, which is attached read-only. So readers can't write, can't reach files,
 * and can't take the loads' memory; and when a new copy is shown, the views move to it in one transaction while
 * sessions go on.
 */
import { copyFile, link, mkdir, realpath, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { asSyncError, SyncError } from '../../errors.ts'
import { makeFolder } from '../../folders.ts'
import type { Secret } from '../../secret.ts'
import { Database } from '../database/duckdb.ts'
import { type Extension, loadExtensions } from '../database/extensions.ts'
import { name, text } from '../database/sqlText.ts'

export interface LiveServerSettings {
  readonly host: string
  readonly port: number
  /** False: other machines may reach it. */
  readonly isLoopback: boolean
  readonly token: Secret
  readonly extensions: string | undefined
  /** The published copy; shown as soon as it is there. */
  readonly published: string
  /** What all readers together may take, such as `256MB`. */
  readonly memory: string
  readonly threads?: number | undefined
}

/** `httpfs` brings the ciphers that `quack` wants. */
const EXTENSIONS: readonly Extension[] = ['httpfs', 'quack']

/** Statements that began on the copy before go on with it; what began before that ends. */
const COPIES_KEPT = 2

export class LiveServer implements AsyncDisposable {
  readonly #database: Database
  readonly #settings: LiveServerSettings
  /** Numbers of the copies that are attached, oldest first. */
  #shown: number[] = []
  #number = 0
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(database: Database, settings: LiveServerSettings) {
    this.#database = database
    this.#settings = settings
  }

  /** Errors: EXTENSION_MISSING, SERVE_FAILED. */
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

  /** Shows the published copy as it is now; without one, nothing is there to be read yet. */
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

/** Files of the server's own: what else lies beside the published copy is not for readers. */
const folderOf = ({ published }: LiveServerSettings): string => `${published}.served`

const uriOf = ({ host, port }: LiveServerSettings): string => `quack:${host}:${port}`

/** A second name for the copy, which stays when the first is given to the next copy; false: there is no copy yet. */
async function held(published: string, file: string): Promise<boolean> {
  try {
    await mkdir(dirname(file), { recursive: true })
    // Of a link it would be the link's second name.
    await link(await realpath(published), file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    // Some file systems know no second names.
    await copyFile(published, file)
  }
  return true
}

/**
 * Functions that a reading statement could do more with than read: end or open servers, and run a statement that is
 * only put together while it runs, which nobody has looked at.
 */
const DENIED = 'quack_[a-z_]*|query|query_table|json_execute_serialized_sql'

/**
 * A reader's statement is let through when DuckDB's own parser knows it as one SELECT that calls none of those; the
 * beginnings and ends of transactions are no statements to the parser.
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
