/** Folders whose lake keeps its files in object storage, and the checks that nothing is lost, doubled or written twice. */
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/config.ts'
import { toMillis } from '../../src/instant.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aWorld, type Ended, SECRET_TEXT, type World } from '../cli/support.ts'
import { aheadOfData } from '../sync/kills.ts'
import { differencesButAbsence } from '../sync/stories.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { BUCKET, type ObjectStorage, startStorage, STORAGE_ENV } from '../support/objectStorage.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'

export const SECRET = STORAGE_ENV.AWS_SECRET_ACCESS_KEY
const YESTERDAY = new Date(toMillis(systemClock.now()) - 25 * 3_600_000)

export const CATALOGUES = ['sqlite', 'postgres'] as const

export let postgres: PostgresServer
export let storage: ObjectStorage

/** Starts a PostgreSQL and a storage for the tests of one file. */
export function startServers(): void {
  beforeAll(async () => {
    postgres = await startPostgresHere()
    storage = await startStorage()
  })
  afterAll(async () => {
    await storage[Symbol.asyncDispose]()
    await postgres.stop()
  })
}

let paths = 0
type Catalogue = (typeof CATALOGUES)[number]

export interface StorageWorld extends World {
  readonly path: string
  /** Changes settings of the lake. */
  lake(settings: Readonly<Record<string, string>>): Promise<void>
}

/** Returns a folder with a lake that keeps its files in the storage, each below a path of its own. */
export async function aStorageWorld(catalogue: Catalogue = 'sqlite'): Promise<StorageWorld> {
  const world = await aWorld({ sandbox: { rows: 60 }, env: STORAGE_ENV })
  const at = catalogue === 'sqlite' ? join(world.folder, 'lake.sqlite') : await postgres.newDatabase()
  const path = `path-${(paths += 1)}`
  const settings = {
    warehouse: `ducklake:${catalogue}:${at}`,
    lake_data: `s3://${BUCKET}/${path}`,
    lake_endpoint: storage.endpoint,
    extensions: extensionsFolder(),
  }
  await world.configure(settings)
  return { ...world, path, lake: (changed) => world.configure({ ...settings, ...changed }) }
}

export const keyless = ({ stdout, stderr }: Ended): Ended['stdout'] => {
  expect(stdout + stderr).not.toContain(SECRET)
  return stdout + stderr
}

export async function done(world: World, ...args: string[]): Promise<string> {
  const ended = await world.run(...args)
  expect(ended.code, `tidemark ${args.join(' ')}\n${keyless(ended)}`).toBe(0)
  return ended.stdout
}

export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))

export const parquetOf = ({ path }: StorageWorld): string[] =>
  filesIn(join(storage.files, path)).filter((file) => file.endsWith('.parquet'))

export const configOf = ({ folder }: World) =>
  loadConfig({ cwd: folder, env: { REPORTING_CLIENT_SECRET: SECRET_TEXT, ...STORAGE_ENV } })

export const opened = async (world: World): Promise<Warehouse> => {
  const { lake, warehouse, limits } = await configOf(world)
  return Warehouse.open({ path: warehouse, lake, memory: limits.warehouseMemory, threads: 1 })
}

export const REPORTS = ['events', 'enquiries', 'merf_submissions'] as const

/** Throws unless the lake has each row of the service once, and no other row. */
export async function isWhole(world: World): Promise<void> {
  await using warehouse = await opened(world)
  const stage = { sandbox: world.sandbox, warehouse, config: await configOf(world) }
  expect(await differencesButAbsence(stage, ...REPORTS)).toEqual([])
  for (const report of REPORTS) expect(await doubled(warehouse, report), report).toBe(0)
}

/** Throws if a row is stored twice, or if a mark is ahead of a row that is missing. */
export async function isOrderly(world: World): Promise<void> {
  await using warehouse = await opened(world)
  const stage = { sandbox: world.sandbox, warehouse, config: await configOf(world) }
  for (const report of REPORTS) {
    expect(await doubled(warehouse, report), report).toBe(0)
    expect(await aheadOfData(stage, report), report).toEqual([])
  }
}

/** Makes a file look older than a day. */
export const age = (file: string): void => utimesSync(file, YESTERDAY, YESTERDAY)

async function doubled(warehouse: Warehouse, report: (typeof REPORTS)[number]): Promise<number | undefined> {
  const keys = reportOf(report).key.join(', ')
  const [counted] = await warehouse.rows<{ n: number }>(
    `SELECT count(*) - count(DISTINCT (${keys})) AS n FROM ${report}`,
  )
  return counted?.n
}
