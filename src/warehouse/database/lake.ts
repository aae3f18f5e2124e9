/** Opens a lake as the warehouse. DuckLake's own retries are off, because they could commit outdated rows. */
import { randomUUID } from 'node:crypto'
import { SyncError } from '../../errors.ts'
import { systemClock } from '../../clock.ts'
import { Database, type DatabaseOptions } from './duckdb.ts'
import { loadExtensions } from './extensions.ts'
import { type Sql, text } from './sql.ts'
import { allowStorage, PERMISSIONS } from './storage.ts'
import type { Secret, StorageAccess } from '../../secret.ts'

export interface LakePlace {
  readonly catalogue: 'sqlite' | 'postgres'
  readonly at: string
  readonly data: string
  /** Set only if `data` is in an object storage: `s3://bucket/path/`. */
  readonly storage?: StorageAccess<Secret | string> | undefined
  readonly extensions: string | undefined
}

export const LAKE = 'lake'
const OPEN_TRIES_MAX = 20
const OPEN_WAIT_MS = 100

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
    await prepare(database, place)
    await database.run(`SET ducklake_max_retry_count = 0; SET ducklake_target_file_size = '128MB'`)
    await attachWithRetries(database, place, readOnly)
    await database.run(`USE ${LAKE}`)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

export async function attachLake(sql: Pick<Sql, 'run' | 'rows'>, place: LakePlace, as: string): Promise<void> {
  await prepare(sql, place)
  await sql.run(attachSql(place, as, true))
}

/** Writes, reads and deletes a small file in the lake's object storage. Throws STORAGE_REFUSED, STORAGE_UNREACHABLE. */
export async function checkStorage(place: LakePlace, options: DatabaseOptions): Promise<void> {
  if (place.storage === undefined) return
  await using sql = await Database.open(':memory:', options)
  await prepare(sql, place)
  const folder = `${place.data}check-${randomUUID()}/`
  await sql.run(`ATTACH 'ducklake::memory:' AS trial (DATA_PATH ${text(folder)})`)
  await sql.run(`COPY (SELECT 1 AS one) TO ${text(`${folder}trial.parquet`)}; FROM ${text(`${folder}trial.parquet`)}`)
  // DuckDB has no statement that deletes a file. But DuckLake deletes files that a catalogue does not name.
  await sql.run(`CALL ducklake_delete_orphaned_files('trial', cleanup_all => true)`)
  if ((await sql.rows(`FROM glob(${text(`${folder}*`)})`)).length > 0)
    throw new SyncError('STORAGE_REFUSED', `a file in ${folder} can't be deleted`, { cure: PERMISSIONS })
}

async function prepare(sql: Pick<Sql, 'run' | 'rows'>, place: LakePlace): Promise<void> {
  const { catalogue, data, storage, extensions } = place
  await loadExtensions(sql, extensions, [`${catalogue}_scanner`, 'ducklake', ...(storage ? (['httpfs'] as const) : [])])
  if (storage !== undefined) await allowStorage(sql, data, storage)
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
