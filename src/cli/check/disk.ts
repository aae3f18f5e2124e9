/** Checks the disk: whether there is space to publish, and in how many days the disk is full at the present growth. */
import { existsSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import type { Config } from '../../config/config.ts'
import { asSyncError } from '../../errors.ts'
import { openNewest } from '../../wiring/published.ts'
import { sizeText } from './files.ts'
import { type Finding, ok, skip, warn } from './finding.ts'

/** During a publication, three files have the size of the warehouse: the warehouse, the old copy and the new one. */
const COPIES = 3
const FULL_DAYS_MIN = 30
const PACE_DAYS = 7

export async function checkDisk(config: Config): Promise<Finding> {
  const check = 'disk'
  let folder = path.dirname(config.warehouse)
  while (!existsSync(folder) && folder !== path.dirname(folder)) folder = path.dirname(folder)
  try {
    const { bavail, bsize } = await statfs(folder)
    const free = bavail * bsize
    const size = existsSync(config.warehouse) ? (await stat(config.warehouse)).size : 0
    const growth = await growthADay(config, size)
    return verdictOf(check, { free, size, growth })
  } catch (thrown) {
    return skip(check, `not known: ${asSyncError(thrown).message}`)
  }
}

interface Room {
  readonly free: number
  readonly size: number
  /** Growth of the warehouse in bytes per day; undefined if it can't be estimated, as in the first `PACE_DAYS`. */
  readonly growth: number | undefined
}

export function verdictOf(check: string, { free, size, growth }: Room): Finding {
  const days = growth === undefined || growth <= 0 ? Infinity : free / (COPIES * growth)
  const pace = growth === undefined ? 'growth not known yet' : `grows by about ${sizeText(growth)} a day`
  const found = `${sizeText(free)} free; the warehouse has ${sizeText(size)}, ${pace}`
  const cure = 'Free space or enlarge the disk; a full one stops loads and publishing, and loses nothing.'
  if (free < (COPIES - 1) * size) return warn(check, `${found}; publishing needs room for a second copy`, cure)
  if (days < FULL_DAYS_MIN) return warn(check, `${found}; full in about ${Math.max(1, Math.round(days))} days`, cure)
  return ok(check, found)
}

/** Estimates growth in bytes per day from the share of rows inserted in the last `PACE_DAYS`. Ignores updated rows. */
async function growthADay(config: Config, size: number): Promise<number | undefined> {
  const newest = await openNewest(config).catch(() => undefined)
  if (newest === undefined) return undefined
  await using database = newest.database
  const [books] = await database.rows<{ all: number | null; late: number | null; days: number | null }>(`
    SELECT sum(inserted)::BIGINT AS all, sum(inserted) FILTER (committed_at > now() - INTERVAL ${PACE_DAYS} DAYS)::BIGINT AS late,
      date_diff('day', min(committed_at), now()) AS days
    FROM tidemark.loads`)
  // In a warehouse younger than `PACE_DAYS`, the first read of all rows would count as its normal growth.
  if (books?.all == null || books.all === 0 || (books.days ?? 0) < PACE_DAYS) return undefined
  return ((books.late ?? 0) / books.all) * (size / PACE_DAYS)
}
