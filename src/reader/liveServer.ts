/**
 * A server for other DuckDBs (DuckDB's protocol `quack`), in the reader process. Its database is in memory and has
 * views of the published copy, which is attached read-only. So readers can't write, reach files or use the memory of
 * loads. When a new copy is published, one transaction changes the views to the new copy, and sessions continue.
 */
import { copyFile, link, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { asSyncError, SyncError } from '../errors.ts'
import { Database } from '../warehouse/database/duckdb.ts'
import { type Extension, loadExtensions } from '../warehouse/database/extensions.ts'
import { name, text } from '../warehouse/database/sql.ts'
import { createRule } from './allowList.ts'

export interface LiveServerSettings {
  readonly host: string
  readonly port: number
  /** True if only this machine can reach the server. */
  readonly isLoopback: boolean
  readonly token: string
  readonly extensions: string | undefined
  /** Path of the published copy, which is served as soon as it exists. */
  readonly published: string
  /** The memory limit of all readers together, such as `256MB`. */
  readonly memory: string
  /** Maximum size of all temporary files together, such as `10GB`. */
  readonly disk: string
  readonly threads?: number | undefined
}

/** Extensions in the order of loading: `quack` needs the ciphers of `httpfs`. */
const EXTENSIONS: readonly Extension[] = ['httpfs', 'quack']

/** Number of attached copies. Statements on the previous copy may finish. Statements on older copies are ended. */
const COPIES_KEPT = 2

export class LiveServer {
  readonly #database: Database
  readonly #settings: LiveServerSettings
  readonly #folder: string
  /** The numbers of the attached copies, the oldest first. */
  #shown: number[] = []
  #number = 0

  private constructor(database: Database, settings: LiveServerSettings, folder: string) {
    this.#database = database
    this.#settings = settings
    this.#folder = folder
  }

  /** Starts the server. Readers can reach only the files in `folder`. Throws EXTENSION_MISSING, SERVE_FAILED. */
  static async start(settings: LiveServerSettings, folder: string): Promise<LiveServer> {
    const { memory, disk, threads } = settings
    const database = await Database.open(':memory:', { memory, disk, threads, spillDirectory: join(folder, 'spill') })
    try {
      await loadExtensions(database, settings.extensions, EXTENSIONS)
      const server = new LiveServer(database, settings, folder)
      await createRule(database, MEMORY)
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

  /** Returns the age (ms) of the oldest running statement of a reader; 0 if no statement is running. */
  async longestMs(): Promise<number> {
    const [oldest] = await this.#database.rows<{ ms: number | null }>(`
      SELECT max(epoch_ms(now()) - epoch_ms(query_started_at)) AS ms FROM quack_active_connections() WHERE state = 'active'`)
    return oldest?.ms ?? 0
  }

  /** Serves the newest published copy. Until the first one exists, the server has no tables. */
  async show(): Promise<void> {
    const number = this.#number + 1
    const file = this.#file(number)
    if (!(await linkCopy(this.#settings.published, file))) return
    this.#number = number
    await this.#database
      .run(`ATTACH ${text(file)} AS ${copyName(number)} (READ_ONLY)`)
      .catch(async (error: unknown) => {
        await rm(file, { force: true })
        throw error
      })
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
      await createRule(sql, MEMORY)
    })
    this.#shown.push(number)
    for (const old of this.#shown.splice(0, this.#shown.length - COPIES_KEPT)) {
      await this.#database.run(`DETACH ${copyName(old)}`)
      await rm(this.#file(old), { force: true })
    }
  }

  #file(number: number): string {
    return join(this.#folder, `${copyName(number)}.duckdb`)
  }
}

const copyName = (number: number): string => `copy_${number}`

const uriOf = ({ host, port }: LiveServerSettings): string => `quack:${host}:${port}`

/** Links `file` to the present copy, so that it survives the next publication. Returns false if there is no copy. */
async function linkCopy(published: string, file: string): Promise<boolean> {
  try {
    // `link` does not follow a symbolic link, so `realpath` finds the file behind it.
    await link(await realpath(published), file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    // On a file system without hard links, copies the file.
    await copyFile(published, file)
  }
  return true
}

/** The prefix of the rule's macros. Temporary macros would exist only on this connection, not in readers' sessions. */
const MEMORY = 'memory.main.'

/** The macro that checks a statement. It allows transactions by their text, because DuckDB can't serialize them. */
const RULE = String.raw`
  CREATE MACRO memory.main.may_read(session, statement) AS
    regexp_full_match(statement::VARCHAR, '(?i)\s*(BEGIN|COMMIT|ROLLBACK|ABORT)(\s+TRANSACTION)?(\s+READ ONLY)?\s*;?\s*')
    OR memory.main.refusal(statement::VARCHAR) IS NULL`

async function closeDoors(database: Database, folder: string): Promise<void> {
  await database.run(RULE)
  await database.run(`SET GLOBAL quack_authorization_function = 'may_read'`)
  await database.run(`SET allowed_directories = [${text(folder)}]`)
  await database.run('SET enable_external_access = false')
}

async function listen(database: Database, settings: LiveServerSettings): Promise<void> {
  const { token, isLoopback } = settings
  const options = `token := ${text(token)}, allow_other_hostname := ${!isLoopback}`
  try {
    await database.run(`CALL quack_serve(${text(uriOf(settings))}, ${options})`)
  } catch (error) {
    const reason = asSyncError(error).message.replaceAll(token, '[secret]')
    throw new SyncError('SERVE_FAILED', `${uriOf(settings)} can't be served: ${reason}`, {
      cure: 'End the program that uses this port, or set serve to another port.',
      data: { address: uriOf(settings) },
    })
  }
}
