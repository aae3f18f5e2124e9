/** Opens the file that a command reads: the published copy, or the warehouse while no process is writing to it. */
import { existsSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { asSyncError, nothingPublished } from '../errors.ts'
import { isThere } from '../folders.ts'
import { Database, type DatabaseOptions } from '../warehouse/database/duckdb.ts'
import { type LakePlace, openLake } from '../warehouse/database/lake.ts'
import { type NewDataRequest, newDataSince } from '../warehouse/books/newData.ts'
import type { Sql } from '../warehouse/database/sql.ts'
import { checkLayout } from '../warehouse/books/layout.ts'

/** Opens the published copy, or the lake if there is one. Throws WAREHOUSE_MISSING or WAREHOUSE_CORRUPT. */
export async function openPublished(
  { published, limits, lake }: Config,
  more: Pick<DatabaseOptions, 'spillDirectory'> = {},
): Promise<Database> {
  const options = { memory: limits.queryMemory, ...more }
  if (lake !== undefined) return openLakeToRead(lake, options)
  if (!isThere(published)) throw nothingPublished(published)
  return openToRead(() => Database.open(published, { ...options, readOnly: true }))
}

async function openToRead(open: () => Promise<Database>): Promise<Database> {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await open())
  await checkLayout(database)
  opening.move()
  return database
}

const openLakeToRead = (lake: LakePlace, options: DatabaseOptions): Promise<Database> =>
  openToRead(() => openLake(lake, { ...options, readOnly: true }))

export const openWarehouseToRead = ({ warehouse, lake, limits: { queryMemory: memory } }: Config): Promise<Database> =>
  lake === undefined
    ? openToRead(() => Database.open(warehouse, { memory, readOnly: true }))
    : openLakeToRead(lake, { memory })

export const mayExist = ({ warehouse, lake }: Config): boolean => lake !== undefined || isThere(warehouse)

export interface Newest {
  readonly database: Database
  readonly file: 'warehouse' | 'published'
}

/** Opens the warehouse or, if another process has it open, the published copy. Undefined if neither exists. */
export async function openNewest(config: Config): Promise<Newest | undefined> {
  const isLake = config.lake !== undefined
  try {
    if (mayExist(config)) return { database: await openWarehouseToRead(config), file: 'warehouse' }
  } catch (error) {
    const { code, data } = asSyncError(error)
    if (isLake && data['isAbsent'] !== true) throw error
    // A user without access to the warehouse may have access to the copy, so the copy is opened instead.
    const isUnavailable = code === 'WAREHOUSE_MISSING' && (isLake || existsSync(config.published))
    if (!isUnavailable && code !== 'WAREHOUSE_LOCKED') throw error
  }
  // A lake has no published copy.
  if (isLake || !isThere(config.published)) return undefined
  return { database: await openPublished(config), file: 'published' }
}

/** Reads what has changed in each report since its cursor. Returns undefined before the first publication. */
export async function readNewData(config: Config, warehouse: Pick<Sql, 'rows'>, since: NewDataRequest) {
  if (config.lake !== undefined) return newDataSince(warehouse, since)
  if (!isThere(config.published)) return undefined
  await using copy = await openPublished(config)
  return await newDataSince(copy, since)
}
