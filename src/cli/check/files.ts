/** Checks the configuration's sources, the warehouse, the published copy, and the disk space. */
import { constants, lstatSync, existsSync } from 'node:fs'
import { access, readdir, stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import type { Config } from '../../config/config.ts'
import { asSyncError, SyncError } from '../../errors.ts'
import { isFolder, isThere } from '../../folders.ts'
import { counted } from '../layout.ts'
import { openNewest, openPublished, openWarehouseToRead } from '../../wiring/published.ts'
import { runLogsOf } from '../../runLogs.ts'
import { spillPrefix } from '../../warehouse/database/warehouseFile.ts'
import type { Database } from '../../warehouse/database/duckdb.ts'
import { otherSource } from '../../warehouse/publish/copySource.ts'
import { onlyRow } from '../../warehouse/database/sql.ts'
import { checkStorage, lakeName, type LakePlace } from '../../warehouse/database/lake.ts'
import { fail, type Finding, ok, warn, skip } from './finding.ts'

export function checkConfiguration({ source, service, reports }: Config): Finding {
  const from = [source.file ?? 'no file', ...(source.env.length === 0 ? [] : [source.env.join(', ')])]
  const all = Object.values(reports)
  const running = `${all.filter(({ enabled }) => enabled).length} of ${counted(all.length, 'report')} on`
  const found = `${from.join(' and ')}; service ${service.baseUrl.origin}; ${running}, listed under reports or not`
  const { misspellings = [] } = source
  if (misspellings.length === 0) return ok('configuration', found)
  const names = misspellings.map(({ name }) => name).join(', ')
  const meant = misspellings.map(({ name, meant }) => `${meant} in place of ${name}`).join(', ')
  return warn('configuration', `${found}; nothing reads ${names}`, `Set ${meant}, or take it away.`)
}

export async function checkWarehouse(config: Config): Promise<Finding> {
  const { warehouse } = config
  const check = 'warehouse'
  if (config.lake !== undefined) return checkLake(config, config.lake)
  try {
    if (!isThere(warehouse)) return await checkFolder(check, warehouse)
    // The folder must be writable, because Tidemark creates its log, staged rows, queue and socket in the folder.
    await requireWritable([warehouse, constants.W_OK], [path.dirname(warehouse), MAKES_FILES])
    await requireWritable(...(await findLeftovers(config)).map((folder) => [folder, MAKES_FILES] as const))
    const found = `${warehouse}, ${await sizeOf(warehouse)}, layout ${await layoutOf(config)}`
    const logs = runLogsOf(warehouse)
    const refused = await refusalOf(logs, MAKES_FILES)
    if (refused === undefined || refused === 'ENOENT') return ok(check, found)
    const lost = `${found}; ${logs} may not be written by this user (${refused}): no line of a run is kept`
    return warn(check, lost, `Give ${logs} to the user that runs Tidemark, or remove it.`)
  } catch (thrown) {
    const error = asSyncError(thrown)
    if (error.code !== 'WAREHOUSE_LOCKED') return fail(check, error)
    const cure = 'Nothing, if that process is a worker or a running sync: only one can write at a time. Else end it.'
    return warn(check, error.message, cure)
  }
}

async function checkLake(config: Config, lake: LakePlace): Promise<Finding> {
  try {
    await checkStorage(lake, { memory: config.limits.queryMemory })
    return ok('warehouse', `${lakeName(lake)}, files in ${lake.data}, layout ${await layoutOf(config)}`)
  } catch (thrown) {
    const error = asSyncError(thrown)
    if (error.data['isAbsent'] !== true) return fail('warehouse', error)
    return warn('warehouse', error.message, 'Nothing, if no sync has run yet: the first one makes the lake.')
  }
}

/** Returns the version of the tables. Example for a lake: `8, DuckLake format 1.0, DuckDB v1.5.5`. */
async function layoutOf(config: Config): Promise<string> {
  await using database = await openWarehouseToRead(config)
  const format = `', DuckLake format ', (SELECT value FROM lake.options() WHERE option_name = 'version'), ', DuckDB ', version()`
  const [layout] = await database.rows<{ layout: string }>(`
    SELECT concat(max(version)${config.lake ? `, ${format}` : ''}) AS layout FROM tidemark.layout`)
  return layout?.layout ?? ''
}

export async function checkPublished(config: Config): Promise<Finding> {
  const { published, lake } = config
  const check = 'published copy'
  if (lake !== undefined) return ok(check, 'none: readers attach the lake')
  try {
    if (!isThere(published)) return await checkFolder(check, published)
    // A publication renames a new file over the old one, so only the folder must be writable.
    await requireWritable([path.dirname(published), MAKES_FILES])
    await using database = await openPublished(config)
    const [loads] = await database.rows<{ loads: number }>('SELECT count(*) AS loads FROM tidemark.loads')
    const found = `${published}, ${await sizeOf(published)}, ${counted(loads?.loads ?? 0, 'load')}`
    const stale = await findDifference(config, database)
    return stale === undefined ? ok(check, found) : warn(check, `${found}; ${stale.what}`, stale.cure)
  } catch (thrown) {
    return fail(check, asSyncError(thrown))
  }
}

/** Returns how the warehouse differs from the copy, or undefined if they are equal or the warehouse is in use. */
export async function findDifference(config: Config, copy: Database) {
  await using warehouse = await openWarehouseToRead(config).catch(() => undefined)
  if (warehouse === undefined) return undefined
  const other = await otherSource(copy, warehouse)
  if (other !== undefined) return { what: `${OF_OTHER}, ${other}`, cure: OWN_FILE }
  const last = `SELECT coalesce(max(load_id), 0) AS load,
    (SELECT value FROM tidemark.settings WHERE name = 'number_mark') AS origin FROM tidemark.loads`
  const copied = await onlyRow<{ load: number; origin: string }>(copy, last)
  const stored = await onlyRow<typeof copied>(warehouse, last)
  if (copied.origin !== stored.origin || copied.load > stored.load)
    return { what: OF_OTHER, cure: `${PUBLISH} ${OWN_FILE}` }
  const loads = `its last load is ${copied.load}, the last one of the warehouse is ${stored.load}`
  return copied.load < stored.load ? { what: `it is older than the warehouse: ${loads}`, cure: PUBLISH } : undefined
}

const OF_OTHER = 'it is a copy of another warehouse'
const PUBLISH = 'Readers see old rows. Run "tidemark sync": it publishes a new copy.'
const OWN_FILE = 'If two configurations publish there, set published to another file in one of them.'

const MEBIBYTE = 2 ** 20
const GIBIBYTE = 2 ** 30

export const sizeText = (bytes: number): string =>
  bytes < GIBIBYTE ? `${(bytes / MEBIBYTE).toFixed(1)} MB` : `${(bytes / GIBIBYTE).toFixed(1)} GB`

const sizeOf = async (file: string): Promise<string> => sizeText((await stat(file)).size)

const MAKES_FILES = constants.W_OK | constants.X_OK

async function requireWritable(...places: readonly (readonly [place: string, rights: number])[]): Promise<void> {
  for (const [place, rights] of places) {
    const refused = await refusalOf(place, rights)
    if (refused === undefined) continue
    throw new SyncError('WAREHOUSE_MISSING', `${place} may not be written by this user (${refused})`, {
      cure: `Run Tidemark as the user that ${place} belongs to, or let this one write it.`,
      data: { path: place },
    })
  }
}

const refusalOf = (place: string, rights: number): Promise<string | undefined> =>
  access(place, rights).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  )

async function findLeftovers({ warehouse, staging }: Config): Promise<string[]> {
  const folder = path.dirname(warehouse)
  const beside = (await readdir(folder)).map((each) => path.join(folder, each))
  return beside.filter((each) => each === staging || each.startsWith(spillPrefix(warehouse)))
}

async function checkFolder(check: string, file: string): Promise<Finding> {
  let folder = path.dirname(file)
  // Uses `lstat`, because it also finds a link without a target. Such a link keeps the file from being created.
  while (lstatSync(folder, { throwIfNoEntry: false }) === undefined) folder = path.dirname(folder)
  const failed = (why: string, cure: string) =>
    fail(check, new SyncError('WAREHOUSE_MISSING', `${file} is not there, and ${folder} ${why}`, { cure }))
  const otherPath = 'name another path in the configuration.'
  const link = `See what ${folder} is: a link to a disk that is not mounted, perhaps. Or ${otherPath}`
  if (!isFolder(folder)) return failed('is no folder', link)
  if ((await refusalOf(folder, MAKES_FILES)) === undefined)
    return ok(check, `${file} is not there yet; the first sync makes it`)
  return failed('is not writable', `Make ${folder} writable for this user, or ${otherPath}`)
}

/** The copies of the warehouse that a publication needs space for: the warehouse, the old copy and the new copy. */
const COPIES = 3
const DAYS_UNTIL_FULL_MIN = 30
const GROWTH_DAYS = 7

export async function checkDisk(config: Config): Promise<Finding> {
  const check = 'disk'
  let folder = path.dirname(config.warehouse)
  while (!existsSync(folder) && folder !== path.dirname(folder)) folder = path.dirname(folder)
  try {
    const { bavail, bsize } = await statfs(folder)
    const free = bavail * bsize
    const size = existsSync(config.warehouse) ? (await stat(config.warehouse)).size : 0
    const bytesPerDay = await growthPerDay(config, size)
    return diskVerdict(check, { free, size, bytesPerDay })
  } catch (thrown) {
    return skip(check, `not known: ${asSyncError(thrown).message}`)
  }
}

interface DiskSpace {
  readonly free: number
  readonly size: number
  /** Undefined in the first `GROWTH_DAYS` days, when the first read of all rows would look like growth. */
  readonly bytesPerDay: number | undefined
}

export function diskVerdict(check: string, { free, size, bytesPerDay }: DiskSpace): Finding {
  const days = bytesPerDay === undefined || bytesPerDay <= 0 ? Infinity : free / (COPIES * bytesPerDay)
  const pace = bytesPerDay === undefined ? 'growth not known yet' : `grows by about ${sizeText(bytesPerDay)} a day`
  const found = `${sizeText(free)} free; the warehouse has ${sizeText(size)}, ${pace}`
  const cure = 'Free space or enlarge the disk; a full one stops loads and publishing, and loses nothing.'
  if (free <= (COPIES - 1) * size) return warn(check, `${found}; publishing needs room for a second copy`, cure)
  if (days < DAYS_UNTIL_FULL_MIN)
    return warn(check, `${found}; full in about ${counted(Math.max(1, Math.round(days)), 'day')}`, cure)
  return ok(check, found)
}

async function growthPerDay(config: Config, size: number): Promise<number | undefined> {
  const newest = await openNewest(config).catch(() => undefined)
  if (newest === undefined) return undefined
  await using database = newest.database
  const [books] = await database.rows<{ all: number | null; late: number | null; days: number | null }>(`
    SELECT sum(inserted)::BIGINT AS all, sum(inserted) FILTER (committed_at > now() - INTERVAL ${GROWTH_DAYS} DAYS)::BIGINT AS late,
      date_diff('day', min(committed_at), now()) AS days
    FROM tidemark.loads`)
  if (books?.all == null || books.all === 0 || (books.days ?? 0) < GROWTH_DAYS) return undefined
  return ((books.late ?? 0) / books.all) * (size / GROWTH_DAYS)
}
