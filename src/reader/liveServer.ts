/** Serves read-only views of the published copy to other DuckDB processes (extension `quack`). */
import { join } from 'node:path'
import { asSyncError, SyncError } from '../errors.ts'
import { Database } from '../warehouse/database/duckdb.ts'
import { type Extension, loadExtensions } from '../warehouse/database/extensions.ts'
import { text } from '../warehouse/database/sql.ts'
import { createRule } from './allowList.ts'
import { copyShower, MACRO_SCHEMA } from './attachedCopies.ts'

export interface LiveServerSettings {
  readonly host: string
  readonly port: number
  readonly isLoopback: boolean
  readonly token: string
  readonly extensions: string | undefined
  readonly published: string
  readonly memory: string
  readonly disk: string
  readonly threads?: number | undefined
}

/** `quack` needs the ciphers of `httpfs`, which is loaded first. */
const EXTENSIONS: readonly Extension[] = ['httpfs', 'quack']

export type LiveServer = Awaited<ReturnType<typeof startLiveServer>>

/** Starts the server. Throws EXTENSION_MISSING or SERVE_FAILED. */
export async function startLiveServer(settings: LiveServerSettings, folder: string) {
  const { memory, disk, threads, published } = settings
  const database = await Database.open(':memory:', { memory, disk, threads, spillDirectory: join(folder, 'spill') })
  const show = copyShower(database, { published, folder })
  try {
    await loadExtensions(database, settings.extensions, EXTENSIONS)
    await createRule(database, MACRO_SCHEMA)
    await show()
    await closeDoors(database, folder)
    await listen(database, settings)
    await database.run('SET lock_configuration = true')
  } catch (error) {
    await database.close()
    throw error
  }
  return {
    show,
    oldestStatementMs: async (): Promise<number> => {
      const [oldest] = await database.rows<{ ms: number | null }>(`
        SELECT max(epoch_ms(now()) - epoch_ms(query_started_at)) AS ms FROM quack_active_connections() WHERE state = 'active'`)
      return oldest?.ms ?? 0
    },
  }
}

const uriOf = ({ host, port }: LiveServerSettings): string => `quack:${host}:${port}`

const MAY_READ = String.raw`
  CREATE MACRO memory.main.may_read(session, statement) AS
    regexp_full_match(statement::VARCHAR, '(?i)\s*(BEGIN|COMMIT|ROLLBACK|ABORT)(\s+TRANSACTION)?(\s+READ ONLY)?\s*;?\s*')
    OR memory.main.refusal(statement::VARCHAR) IS NULL`

async function closeDoors(database: Database, folder: string): Promise<void> {
  await database.run(MAY_READ)
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
