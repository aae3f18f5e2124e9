/**
 * A lake as the warehouse: a memory database with a DuckLake catalogue attached and in use, so every statement that is
 * written for a file means the lake's tables. Several processes load at once without a lock. DuckLake would commit
 * beside a commit that it thinks unrelated, on what was read before that one; so its own retries are off, a commit on
 * an outdated state fails, and the whole transaction is done again (duckdb.ts), fence, numbers and rows included.
 */
import { SyncError } from '../../errors.ts'
import { systemClock } from '../../clock.ts'
import { Database, type DatabaseOptions } from './duckdb.ts'
import { type Extension, loadExtensions } from './extensions.ts'
import { text } from './sqlText.ts'

export interface LakePlace {
  readonly catalogue: 'sqlite' | 'postgres'
  /** The catalogue's file, or what libpq takes as a connection string. */
  readonly at: string
  /** Directory of the lake's Parquet files; ends with a slash. */
  readonly data: string
  readonly extensions: string | undefined
}

/** The name under which the lake is attached. */
const LAKE = 'lake'
const OPEN_TRIES_MAX = 20
const OPEN_WAIT_MS = 100

const SCANNERS: Readonly<Record<LakePlace['catalogue'], Extension>> = {
  sqlite: 'sqlite_scanner',
  postgres: 'postgres_scanner',
}

/** As it may be shown: a connection string can hold a password. */
export const lakeName = ({ catalogue, at }: LakePlace): string =>
  catalogue === 'sqlite' ? `ducklake:sqlite:${at}` : `ducklake:postgres:${withoutPassword(at)}`

const withoutPassword = (address: string): string =>
  address
    .replace(/(:\/\/[^:@/]*):.*@/s, '$1:***@')
    .replace(/password\s*=\s*('(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)+)/gis, 'password=***')

/** Errors: EXTENSION_MISSING, WAREHOUSE_MISSING. */
export async function openLake(place: LakePlace, options: DatabaseOptions): Promise<Database> {
  const { readOnly = false, ...others } = options
  const database = await Database.open(':memory:', { ...others, shared: lakeName(place) })
  try {
    await loadExtensions(database, place.extensions, [SCANNERS[place.catalogue], 'ducklake'])
    await database.run('SET ducklake_max_retry_count = 0')
    await attached(database, place, readOnly)
    await database.run(`USE ${LAKE}`)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Makes the lake's tables readable beside those of another database. */
export async function attachLake(sql: Pick<Database, 'run' | 'rows'>, place: LakePlace, as: string): Promise<void> {
  await loadExtensions(sql, place.extensions, [SCANNERS[place.catalogue], 'ducklake'])
  await sql.run(attachSql(place, as, true))
}

/** With a write-ahead log, readers of SQLite don't keep a writer from committing. */
function attachSql({ catalogue, at, data }: LakePlace, as: string, readOnly: boolean): string {
  const own = catalogue === 'sqlite' ? `, META_JOURNAL_MODE 'WAL', META_BUSY_TIMEOUT 5000` : ''
  const access = readOnly ? ', READ_ONLY, CREATE_IF_NOT_EXISTS false' : ''
  return `ATTACH ${text(`ducklake:${catalogue}:${at}`)} AS ${as} (DATA_PATH ${text(data)}${own}${access})`
}

const PASSING = /already exists|locked|duplicate key|conflict|23505/i
/** Two that make the same lake at once: one of them finds it half made. To a reader it is just not there yet. */
const HALF_MADE = /does not exist/i

async function attached(database: Database, place: LakePlace, readOnly: boolean): Promise<void> {
  const sql = attachSql(place, LAKE, readOnly)
  for (let tries = 1; ; tries += 1) {
    try {
      return await database.run(sql)
    } catch (error) {
      const told = (error as Error).message.replaceAll(place.at, withoutPassword(place.at))
      const mayPass = PASSING.test(told) || (!readOnly && HALF_MADE.test(told))
      if (tries >= OPEN_TRIES_MAX || !mayPass) {
        throw new SyncError('WAREHOUSE_MISSING', `${lakeName(place)} can't be opened: ${told}`, {
          cure: 'Check the address and permissions of the catalogue and of lake_data; "tidemark sync" makes a new lake.',
        })
      }
      await systemClock.sleep(OPEN_WAIT_MS * (1 + systemClock.random()))
    }
  }
}
