/** Migrates the bookkeeping tables to the newest layout. */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { reports } from '../../../schema/index.ts'
import { tableOf } from '../../../schema/tables.ts'
import { SyncError, usageError } from '../../errors.ts'
import { isLake } from '../database/catalogue.ts'
import type { Database } from '../database/duckdb.ts'
import { countOf, type Sql, text } from '../database/sql.ts'
import { feedSql, restartFeed } from './changeFeed.ts'
import { freshnessCommentsSql, freshnessSql } from './freshness.ts'
import { adaptColumns, createTables } from '../tables/tables.ts'

const FOLDER = new URL('../../../schema/migrations/', import.meta.url)
const MIGRATIONS = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .toSorted()

/** Child keys are not compressed, because loads read all of them and decompression is slow. */
const COMPRESSED: Readonly<Record<string, string>> = { _payload: 'zstd', _child_key: 'uncompressed' }

export const LAYOUT = MIGRATIONS.length
/** The layout number of a warehouse that `tidemark move` has not filled yet. Older versions reject this number. */
export const UNFILLED = 1_000_000

/** Applies the missing migrations. Returns the earlier layout number, or 0 if there were no tables. */
export async function migrate(sql: Sql, path: string, movedFrom?: string): Promise<number> {
  const version = await knownLayout(sql, path, movedFrom)
  const migrations = await Promise.all(MIGRATIONS.map((file) => readFile(new URL(file, FOLDER), 'utf8')))
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue
    await sql.run(migration)
    await sql.run(`INSERT INTO tidemark.layout VALUES (${index + 1}, now())`)
  }
  const tables = reports.map(tableOf)
  const lake = await isLake(sql)
  await createTables(sql, tables, lake ? {} : COMPRESSED)
  const definitions = feedSql(tables) + freshnessSql() + (lake ? '' : freshnessCommentsSql())
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([migrations, definitions, tables]))
    .digest('hex')
  if ((await storedFingerprint(sql)) === fingerprint) return version
  if (version > 0) await correctComments(sql, migrations)
  for (const report of version > 0 ? await adaptColumns(sql, tables) : [])
    await restartFeed(sql, report, 'the type of a declared field was changed')
  await sql.run(`${definitions}; DELETE FROM tidemark.settings WHERE name = 'definitions';
    INSERT INTO tidemark.settings VALUES ('definitions', ${text(fingerprint)})`)
  return version
}

async function storedFingerprint(sql: Sql): Promise<string | undefined> {
  const [row] = await sql.rows<{ value: string }>(`SELECT value FROM tidemark.settings WHERE name = 'definitions'`)
  return row?.value
}

async function correctComments(sql: Sql, migrations: readonly string[]): Promise<void> {
  const comments = await sql.rows<{ target: string; comment: string }>(`
    SELECT 'TABLE tidemark.' || table_name AS target, comment FROM duckdb_tables()
    WHERE schema_name = 'tidemark' AND comment IS NOT NULL UNION ALL
    SELECT 'COLUMN tidemark.' || table_name || '.' || column_name, comment FROM duckdb_columns()
    WHERE schema_name = 'tidemark' AND comment IS NOT NULL`)
  const stored = new Set(comments.map(({ target, comment }) => `COMMENT ON ${target} IS ${text(comment)};`))
  const lines = migrations.flatMap((migration) => migration.split('\n'))
  const wrong = lines.filter((line) => line.startsWith('COMMENT ON ') && !stored.has(line.replaceAll('"', '')))
  if (wrong.length > 0) await sql.run(wrong.join('\n'))
}

/** Returns the layout number, or 0 if there are no tables. Throws if this program can't use the warehouse. */
export async function knownLayout(sql: Pick<Sql, 'rows'>, path: string, movedFrom?: string): Promise<number> {
  const [books] = await sql.rows(
    `SELECT 1 FROM duckdb_tables() WHERE schema_name = 'tidemark' AND table_name = 'layout'`,
  )
  if (books === undefined) return 0
  const [layout] = await sql.rows<{ version: number | null; unfilled: number }>(`
    SELECT max(version) FILTER (version < ${UNFILLED}) AS version, count(*) FILTER (version = ${UNFILLED}) AS unfilled FROM tidemark.layout`)
  const isUnfilled = layout?.unfilled === 1
  if (isUnfilled && movedFrom === undefined) {
    const cure = 'Run the same "tidemark move" again: it continues. Or use the old warehouse, and delete this one.'
    throw new SyncError('MOVE_UNFINISHED', `"tidemark move" has not filled ${path} yet`, { cure })
  }
  const source = `tidemark.settings WHERE name = 'number_mark' AND value = ${text(movedFrom ?? '')}`
  const isRelated = movedFrom !== undefined && (await countOf(sql, source)) === 1
  if (movedFrom !== undefined && !(isUnfilled && isRelated)) {
    const what = isRelated ? 'is the warehouse that you move' : 'is another warehouse'
    throw usageError(`${path} ${what}`, 'Name a file or a lake that does not exist yet.')
  }
  const version = layout?.version ?? 0
  if (version <= LAYOUT) return version
  throw new SyncError('WAREHOUSE_NEWER', `${path} has layout ${version}, this program reads up to ${LAYOUT}`, {
    cure: 'Run the newer Tidemark that wrote it.',
    data: { path, layout: version },
  })
}

/** Throws if this program can't read the tables. */
export async function checkLayout(database: Pick<Database, 'rows' | 'path' | 'isShared'>): Promise<void> {
  const layout = await knownLayout(database, database.path)
  // A lake has no tables for a moment while another process creates it.
  if (layout > 0 || !database.isShared) return
  const cure = 'Run "tidemark sync": it creates them. If a worker is starting, wait for its first run.'
  throw new SyncError('WAREHOUSE_MISSING', `${database.path} has no tables yet`, { cure, data: { isAbsent: true } })
}
