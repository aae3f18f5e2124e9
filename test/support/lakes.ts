/**
 * Where a tide's rows go: into a DuckDB file, or into the lake that TIDEMARK_TEST_LAKE names (vitest.lake.config.ts), so
 * that the same tests say the same of both.
 */
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { findPostgres, type PostgresServer, startPostgres } from './postgresServer.ts'

let server: Promise<PostgresServer> | undefined

/** Settings of `tidemark.yaml` for a warehouse in this folder. */
export async function warehouseSettings(folder: string): Promise<Record<string, unknown>> {
  const lake = process.env['TIDEMARK_TEST_LAKE']
  const extensions = process.env['TIDEMARK_EXTENSIONS']
  if (lake === undefined) return { warehouse: join(folder, 'warehouse.duckdb') }
  if (lake === 'sqlite') return { warehouse: `ducklake:sqlite:${join(folder, 'lake.sqlite')}`, extensions }
  server ??= started()
  const at = await (await server).newDatabase()
  return { warehouse: `ducklake:postgres:${at}`, lake_data: join(folder, 'files'), extensions }
}

function started(): Promise<PostgresServer> {
  const programs = findPostgres()
  if (programs === undefined)
    throw new TypeError('no PostgreSQL is here: install it (Debian: apt-get install postgresql)')
  return startPostgres(programs)
}

if (process.env['TIDEMARK_TEST_LAKE'] === 'postgres') afterAll(async () => (await server)?.stop())
