/** Opens a lake as the warehouse. DuckLake's own retries are off, because they could commit outdated rows. */
import { SyncError } from '../../errors.ts'
import { systemClock } from '../../clock.ts'
import { Database, type DatabaseOptions } from './duckdb.ts'
import { type Extension, loadExtensions } from './extensions.ts'
import { text } from './sql.ts'

export interface LakePlace {
  readonly catalogue: 'sqlite' | 'postgres'
  readonly at: string
  readonly data: string
  readonly extensions: string | undefined
}

const LAKE = 'lake'
const OPEN_TRIES_MAX = 20
const OPEN_WAIT_MS = 100

const SCANNERS: Readonly<Record<LakePlace['catalogue'], Extension>> = {
  sqlite: 'sqlite_scanner',
  postgres: 'postgres_scanner',
}

/** Returns the name of the lake for messages, without the password of a connection string. */
export const lakeName = ({ catalogue, at }: LakePlace): string =>
  catalogue === 'sqlite' ? `ducklake:sqlite:${at}` : `ducklake:postgres:${withoutPassword(at)}`

const withoutPassword = (address: string): string =>
  address
    .replace(/(:\/\/[^:@/]*):.*@/s, '$1:***@')
    .replace(/password\s*=\s*('(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)+)/gis, 'password=***')

/** Opens or creates the lake. Throws EXTENSION_MISSING, WAREHOUSE_MISSING. */
export async function openLake(place: LakePlace, options: DatabaseOptions): Promise<Database> {
  const { readOnly = false, ...others } = options
  const database = await Database.open(':memory:', {
    ...others,
    shared: lakeName(place),
    turnsOf: place.catalogue === 'postgres' ? LAKE : undefined,
  })
  try {
    await loadExtensions(database, place.extensions, [SCANNERS[place.catalogue], 'ducklake'])
    await database.run('SET ducklake_max_retry_count = 0')
    await attachWithRetries(database, place, readOnly)
    await database.run(`USE ${LAKE}`)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

export async function attachLake(sql: Pick<Database, 'run' | 'rows'>, place: LakePlace, as: string): Promise<void> {
  await loadExtensions(sql, place.extensions, [SCANNERS[place.catalogue], 'ducklake'])
  await sql.run(attachSql(place, as, true))
}

/** With SQLite's write-ahead log, readers do not block the commit of a writer. */
function attachSql({ catalogue, at, data }: LakePlace, as: string, readOnly: boolean): string {
  const own = catalogue === 'sqlite' ? `, META_JOURNAL_MODE 'WAL', META_BUSY_TIMEOUT 5000` : ''
  const access = readOnly ? ', READ_ONLY, CREATE_IF_NOT_EXISTS false' : ''
  return `ATTACH ${text(`ducklake:${catalogue}:${at}`)} AS ${as} (DATA_PATH ${text(data)}${own}${access})`
}

const RETRYABLE = /already exists|locked|duplicate key|conflict|23505/i
/** DuckLake's message for a lake that is missing or being created. A reader gives up, as it can't create a lake. */
const HALF_MADE = /does not exist/i

async function attachWithRetries(database: Database, place: LakePlace, readOnly: boolean): Promise<void> {
  const sql = attachSql(place, LAKE, readOnly)
  for (let tries = 1; ; tries += 1) {
    try {
      return await database.run(sql)
    } catch (error) {
      const message = (error as Error).message.replaceAll(place.at, withoutPassword(place.at))
      const mayPass = RETRYABLE.test(message) || (!readOnly && HALF_MADE.test(message))
      if (tries >= OPEN_TRIES_MAX || !mayPass) {
        throw new SyncError('WAREHOUSE_MISSING', `${lakeName(place)} can't be opened: ${message}`, {
          cure: 'Check the address and permissions of the catalogue and of lake_data; "tidemark sync" creates a new lake.',
        })
      }
      await systemClock.sleep(OPEN_WAIT_MS * (1 + systemClock.random()))
    }
  }
}
