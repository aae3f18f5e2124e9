/**
 * Chooses the warehouse of a test: a DuckDB file, or the lake that TIDEMARK_TEST_LAKE names (vitest.config.ts), so that
 * the same tests check both.
 */
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { type PostgresServer, startPostgresHere } from './postgresServer.ts'

let server: Promise<PostgresServer> | undefined

/** Settings of `tidemark.yaml` for a warehouse in this folder. */
export async function warehouseSettings(folder: string): Promise<Record<string, unknown>> {
  const lake = process.env['TIDEMARK_TEST_LAKE']
  const extensions = process.env['TIDEMARK_EXTENSIONS']
  if (lake === undefined) return { warehouse: join(folder, 'warehouse.duckdb') }
  if (lake === 'sqlite') return { warehouse: `ducklake:sqlite:${join(folder, 'lake.sqlite')}`, extensions }
  server ??= startPostgresHere()
  const at = await (await server).newDatabase()
  return { warehouse: `ducklake:postgres:${at}`, lake_data: join(folder, 'files'), extensions }
}

if (process.env['TIDEMARK_TEST_LAKE'] === 'postgres') afterAll(async () => (await server)?.stop())
