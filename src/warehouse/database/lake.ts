/** Opens a lake as the warehouse. DuckLake's own retries are off, because they could commit outdated rows. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { asSyncError, SyncError, usageError } from '../../errors.ts'
import { systemClock } from '../../clock.ts'
import { isFolder, isThere } from '../../folders.ts'
import { formatInstant, type Instant } from '../../instant.ts'
import { Database, type DatabaseOptions } from './duckdb.ts'
import { loadExtensions } from './extensions.ts'
import { type Sql, text } from './sql.ts'
import { allowStorage, PERMISSIONS } from './storage.ts'
import type { Secret, StorageAccess } from '../../secret.ts'

export interface LakePlace {
  readonly catalogue: 'sqlite' | 'postgres'
  readonly at: string
  readonly data: string
  /** Set only if `data` is in object storage, such as `s3://bucket/path/`. */
  readonly storage?: StorageAccess<Secret | string> | undefined
  readonly extensions: string | undefined
  /** The snapshot that a reader sees. Default: the newest one. */
  readonly snapshot?: number
}

export const LAKE = 'lake'
const OPEN_TRIES_MAX = 20
const OPEN_WAIT_MS = 100

export const lakeName = ({ catalogue, at }: LakePlace): string =>
  catalogue === 'sqlite' ? `ducklake:sqlite:${at}` : `ducklake:postgres:${withoutPassword(at)}`

const withoutPassword = (address: string): string =>
  address
    .replace(/(:\/\/[^:@/]*):.*@/s, '$1:***@')
    .replace(/password\s*=\s*('(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)+)/gis, 'password=***')

/** Opens or creates the lake. Throws errors such as LAKE_OUTDATED. */
export async function openLake(place: LakePlace, options: DatabaseOptions): Promise<Database> {
  const { readOnly = false, ...others } = options
  const database = await Database.open(':memory:', {
    ...others,
    lakeName: lakeName(place),
    lockedLake: place.catalogue === 'postgres' ? LAKE : undefined,
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

/** Without these timeouts, a statement can wait for 16 minutes on a silent network. */
const TIMEOUTS = {
  connect_timeout: '10',
  keepalives_idle: '10',
  keepalives_interval: '5',
  keepalives_count: '2',
  tcp_user_timeout: '20000',
}

export function withTimeouts(at: string): string {
  const missing = Object.entries(TIMEOUTS).filter(([name]) => !at.includes(name))
  if (missing.length === 0) return at
  const limits = missing.map((limit) => limit.join('='))
  if (!/^postgres(?:ql)?:\/\//.test(at)) return [at, ...limits].join(' ')
  // The password is removed first, because it can contain a question mark.
  const hasQuery = at.replace(/^\w+:\/\/[^@/]*@/, '').includes('?')
  return `${at}${hasQuery ? '&' : '?'}${limits.join('&')}`
}

export async function attachLake(sql: Pick<Sql, 'run' | 'rows'>, place: LakePlace, as: string): Promise<void> {
  await prepare(sql, place)
  await sql.run(attachSql(place, as, 'read'))
}

/** Writes, reads and deletes a small file in the lake's object storage. */
export async function checkStorage(place: LakePlace, options: DatabaseOptions): Promise<void> {
  if (place.storage === undefined) return
  await using sql = await Database.open(':memory:', options)
  await prepare(sql, place)
  const folder = `${place.data}check-${randomUUID()}/`
  await sql.run(`ATTACH 'ducklake::memory:' AS trial (DATA_PATH ${text(folder)})`)
  await sql.run(`COPY (SELECT 1 AS one) TO ${text(`${folder}trial.parquet`)}; FROM ${text(`${folder}trial.parquet`)}`)
  // DuckLake deletes the trial file, because no table refers to it.
  await sql.run(`CALL ducklake_delete_orphaned_files('trial', cleanup_all => true)`)
  if ((await sql.rows(`FROM glob(${text(`${folder}*`)})`)).length > 0)
    throw new SyncError('STORAGE_REFUSED', `a file in ${folder} can't be deleted`, { cure: PERMISSIONS })
}

/** Throws USAGE_INVALID if the folder for a new lake contains files of a lake. */
export async function checkEmpty(place: LakePlace, options: DatabaseOptions): Promise<void> {
  await using sql = await Database.open(':memory:', options)
  await prepare(sql, place)
  const [data, marks] = ['**/*.parquet', 'tidemark-lake-*.csv'].map((files) => text(`${place.data}${files}`))
  const [found] = await sql.rows<{ file: string }>(`FROM glob([${data}, ${marks}]) LIMIT 1`)
  if (found === undefined) return
  const cure = 'Name an empty place with --data, because a lake in object storage deletes files that it does not know.'
  throw usageError(`the place for the files of the new lake has ${found.file}`, cure)
}

async function prepare(sql: Pick<Sql, 'run' | 'rows'>, place: LakePlace): Promise<void> {
  const { catalogue, at, data, storage, extensions } = place
  const folder = data.replace(/\/$/, '')
  const isWrong = existsSync(folder) && !isFolder(folder)
  if (isWrong || (catalogue === 'sqlite' && isThere(at) && isFolder(at))) {
    const cure = 'Name a file for the catalogue, and a folder for lake_data (for "tidemark move": --to and --data).'
    throw new SyncError('CONFIG_INVALID', isWrong ? `${folder} is no folder` : `${at} is a folder`, { cure })
  }
  await loadExtensions(sql, extensions, [`${catalogue}_scanner`, 'ducklake', ...(storage ? (['httpfs'] as const) : [])])
  if (storage !== undefined) await allowStorage(sql, data, storage)
}

/** A writer turns on SQLite's write-ahead log, so that others can read during a commit. */
function attachSql({ catalogue, at, data, snapshot }: LakePlace, as: string, access: keyof typeof ACCESS): string {
  const own = catalogue === 'sqlite' ? `${access === 'read' ? '' : WAL}, META_BUSY_TIMEOUT 5000` : ''
  const state = snapshot === undefined ? '' : `, SNAPSHOT_VERSION ${snapshot}`
  const address = catalogue === 'sqlite' ? at : withTimeouts(at)
  return `ATTACH ${text(`ducklake:${catalogue}:${address}`)} AS ${as} (DATA_PATH ${text(data)}${own}${ACCESS[access]}${state})`
}

const WAL = `, META_JOURNAL_MODE 'WAL'`
const ACCESS = {
  write: '',
  read: ', READ_ONLY, CREATE_IF_NOT_EXISTS false',
  upgrade: ', CREATE_IF_NOT_EXISTS false, AUTOMATIC_MIGRATION true',
} as const

const OTHER_FORMAT = /catalog version is '?(\d+\.\d+)[^,]*,.* version '?(\d+\.\d+)/

const RETRYABLE = /already exists|locked|duplicate key|conflict|23505/i
const LAKE_BEING_CREATED = /does not exist/i
const NO_LAKE = /^Invalid Input Error: Existing DuckLake at .* does not exist/
const OTHER_DATA = /DATA_PATH parameter "(.*?)\/?" does not match existing data path in the catalog "(.*?)\/?"/

async function attachWithRetries(database: Database, place: LakePlace, readOnly: boolean): Promise<void> {
  const sql = attachSql(place, LAKE, readOnly ? 'read' : 'write')
  for (let tries = 1; ; tries += 1) {
    try {
      return await database.run(sql)
    } catch (error) {
      const { message } = error as Error
      const mayPass = RETRYABLE.test(message) || (!readOnly && LAKE_BEING_CREATED.test(message))
      if (tries >= OPEN_TRIES_MAX || !mayPass) throw attachError(place, error as Error, readOnly)
      await systemClock.sleep(OPEN_WAIT_MS * (1 + systemClock.random()))
    }
  }
}

/** Explains why a lake can't be attached. If there is no lake, `data.isAbsent` is true. */
function attachError(place: LakePlace, thrown: Error, readOnly: boolean): SyncError {
  const lake = lakeName(place)
  const message = thrown.message.replaceAll(place.at, withoutPassword(place.at))
  const [, format, known = ''] = OTHER_FORMAT.exec(message) ?? []
  if (format !== undefined) return otherFormat(lake, format, known)
  const [, wanted, own] = OTHER_DATA.exec(message) ?? []
  if (wanted !== undefined) {
    const cure = `Set lake_data (for "tidemark move": --data) to ${own}. For a new lake, name a new catalogue too.`
    return new SyncError('CONFIG_INVALID', `${lake} has its files in ${own}, and lake_data names ${wanted}`, { cure })
  }
  const isAbsent = NO_LAKE.test(message) || (place.catalogue === 'sqlite' && readOnly && !existsSync(place.at))
  const what = isAbsent ? `there is no lake at ${lake}` : `${lake} can't be opened: ${message}`
  const cure = isAbsent
    ? 'Run "tidemark sync": it creates a new lake. If the lake is at another place, correct "warehouse".'
    : 'Check the address of the catalogue: this user must be able to open it, or to create it in a folder.'
  return new SyncError('WAREHOUSE_MISSING', what, { cure, data: { isAbsent } })
}

function otherFormat(lake: string, format: string, known: string): SyncError {
  const what = `${lake} has format ${format} of DuckLake, and this DuckLake has format ${known}`
  if (Number(format) > Number(known))
    return new SyncError('WAREHOUSE_NEWER', what, { cure: 'Run the newer Tidemark that upgraded it.' })
  return new SyncError('LAKE_OUTDATED', what, {
    cure: 'Stop all workers and update the DuckDB of all readers. Then run "tidemark lake upgrade": it copies the catalogue first.',
  })
}

/** Copies the catalogue, then upgrades it. Returns the copy's path or schema, or undefined if no upgrade is needed. */
export async function upgradeLake(
  place: LakePlace,
  options: DatabaseOptions,
  at: Instant,
): Promise<string | undefined> {
  await using database = await Database.open(':memory:', options)
  await prepare(database, place)
  const error = await attachWithRetries(database, place, true).then(() => undefined, asSyncError)
  if (error === undefined) return undefined
  if (error.code !== 'LAKE_OUTDATED') throw error
  const suffix = `before_upgrade_${formatInstant(at).replaceAll(/\D/g, '')}`
  const copy = place.catalogue === 'sqlite' ? `${place.at}.${suffix}` : `ducklake_${suffix}`
  if (place.catalogue === 'postgres') await copyTables(database, place.at, copy)
  else for (const part of ['', '-wal']) if (existsSync(place.at + part)) await copyFile(place.at + part, copy + part)
  await database.run(attachSql(place, LAKE, 'upgrade'))
  return copy
}

async function copyTables(sql: Database, at: string, copy: string): Promise<void> {
  await sql.run(`ATTACH ${text(withTimeouts(at))} AS catalogue (TYPE postgres)`)
  const statements = `DO $do$ DECLARE t text; BEGIN CREATE SCHEMA ${copy};
    FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND starts_with(tablename, 'ducklake_') LOOP
      EXECUTE format('CREATE TABLE ${copy}.%I (LIKE %I INCLUDING ALL)', t, t);
      EXECUTE format('INSERT INTO ${copy}.%I TABLE %I', t, t); END LOOP; END $do$`
  await sql.run(`CALL postgres_execute('catalogue', ${text(statements)})`)
}
