/** Chooses a DuckDB file or the lake in TIDEMARK_TEST_LAKE, so that the same tests check both. */
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { BUCKET, type ObjectStorage, startStorage, STORAGE_ENV } from './objectStorage.ts'
import { type PostgresServer, startPostgresHere } from './postgresServer.ts'

let server: Promise<PostgresServer> | undefined
let storage: Promise<ObjectStorage> | undefined

export const warehouseEnv = (): Readonly<Record<string, string>> =>
  process.env['TIDEMARK_TEST_LAKE'] === 'storage' ? STORAGE_ENV : {}

/** Returns settings of `tidemark.yaml` for a warehouse in this folder. */
export async function warehouseSettings(folder: string): Promise<Record<string, unknown>> {
  const lake = process.env['TIDEMARK_TEST_LAKE']
  const extensions = process.env['TIDEMARK_EXTENSIONS']
  if (lake === undefined) return { warehouse: join(folder, 'warehouse.duckdb') }
  if (lake === 'sqlite') return { warehouse: `ducklake:sqlite:${join(folder, 'lake.sqlite')}`, extensions }
  server ??= startPostgresHere()
  const at = await (await server).newDatabase()
  if (lake === 'storage') {
    storage ??= startStorage()
    const { endpoint } = await storage
    const files = { lake_data: `s3://${BUCKET}${folder}`, lake_endpoint: endpoint }
    return { warehouse: `ducklake:postgres:${at}`, ...files, extensions }
  }
  return { warehouse: `ducklake:postgres:${at}`, lake_data: join(folder, 'files'), extensions }
}

if (['postgres', 'storage'].includes(process.env['TIDEMARK_TEST_LAKE'] ?? ''))
  afterAll(async () => {
    await (await storage)?.[Symbol.asyncDispose]()
    await (await server)?.stop()
  })
