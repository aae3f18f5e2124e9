/**
 * The layout of the books: migrations forward, one file each, and the refusal of a file that a newer program wrote,
 * which this one would misread.
 */
import { readFile } from 'node:fs/promises'
import { reports } from '../../../schema/index.ts'
import { tableOf } from '../../../schema/tables.ts'
import { SyncError } from '../../errors.ts'
import type { Sql } from '../database/duckdb.ts'
import { freshnessCommentsSql, freshnessSql } from './freshness.ts'
import { createTables, isLake } from '../tables/tables.ts'

const MIGRATIONS = ['0001_books.sql', '0002_asked_scopes.sql', '0003_first_numbers.sql'] as const

/**
 * How a file's columns are compressed where DuckDB's own choice costs more than it saves. Files from before keep theirs; a
 * lake's files are Parquet. Payloads take less time and room so. Keys of children are looked at in each load that
 * replaces rows, all over their table: from a dictionary of compressed texts that is most of the work.
 */
const COMPRESSED: Readonly<Record<string, string>> = { _payload: 'zstd', _child_key: 'uncompressed' }

/** The newest layout that this program knows. */
export const LAYOUT = MIGRATIONS.length

/** Brings a file to the newest layout. Error: WAREHOUSE_NEWER when a newer program wrote it. */
export async function migrate(sql: Sql, path: string): Promise<void> {
  const version = await knownLayout(sql, path)
  for (const [index, file] of MIGRATIONS.entries()) {
    if (index < version) continue
    await sql.run(await readFile(new URL(`../../../schema/migrations/${file}`, import.meta.url), 'utf8'))
    await sql.run(`INSERT INTO tidemark.layout VALUES (${index + 1}, now())`)
  }
  const lake = await isLake(sql)
  await createTables(sql, reports.map(tableOf), lake ? {} : COMPRESSED)
  await sql.run(freshnessSql())
  if (!lake) await sql.run(freshnessCommentsSql())
}

/** The layout of a file, 0 for one without books. Error: WAREHOUSE_NEWER. */
export async function knownLayout(sql: Pick<Sql, 'rows'>, path: string): Promise<number> {
  const [books] = await sql.rows(
    `SELECT 1 FROM duckdb_tables() WHERE schema_name = 'tidemark' AND table_name = 'layout'`,
  )
  const [layout] =
    books === undefined
      ? []
      : await sql.rows<{ version: number }>('SELECT max(version) AS version FROM tidemark.layout')
  const version = layout?.version ?? 0
  if (version <= LAYOUT) return version
  throw new SyncError('WAREHOUSE_NEWER', `${path} has layout ${version}, this program knows ${LAYOUT}`, {
    cure: 'Run the newer Tidemark that wrote it.',
    data: { path, layout: version },
  })
}
