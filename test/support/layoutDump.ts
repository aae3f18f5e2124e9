/** Converts a warehouse to one SQL text and back. Files of earlier layouts are stored in this form for tests. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Database } from '../../src/warehouse/database/duckdb.ts'

const MEMORY = '256MB'

/** Returns the SQL text of a warehouse of that layout. */
export const fileOf = (layout: number) => path.join(import.meta.dirname, '../fixtures', `layout${layout}.sql`)

interface Made {
  readonly schema: string
  readonly name: string
  readonly sql: string
}

const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`
const literal = (value: string | null): string => (value === null ? 'NULL' : `'${value.replaceAll("'", "''")}'`)

/**
 * Returns schemas, tables and every row, each value as text. Views are left out, since each opening creates them again.
 */
export async function dumpOf(path: string): Promise<string> {
  await using database = await Database.open(path, { readOnly: true, memory: MEMORY })
  const tables = await database.rows<Made>(
    `SELECT schema_name AS schema, table_name AS name, sql FROM duckdb_tables() WHERE NOT internal ORDER BY ALL`,
  )
  const lines = ['CREATE SCHEMA tidemark;', 'CREATE SCHEMA current;', 'CREATE SCHEMA history;']
  for (const { schema, name, sql } of tables) {
    lines.push(sql.replaceAll(/\s*\n\s*/g, ' '))
    const table = `${identifier(schema)}.${identifier(name)}`
    for (const row of await database.rows<Record<string, string | null>>(
      `SELECT COLUMNS(*)::VARCHAR FROM ${table} ORDER BY ALL`,
    ))
      lines.push(`INSERT INTO ${table} VALUES (${Object.values(row).map(literal).join(', ')});`)
  }
  return `${lines.join('\n')}\n`
}

/** Creates the file from its dump. */
export async function restore(dump: string, path: string): Promise<void> {
  await using database = await Database.open(path, { memory: MEMORY })
  // One statement per line; values contain no line break, since JSON escapes them.
  for (const statement of (await readFile(dump, 'utf8')).split('\n')) {
    if (statement !== '' && !statement.startsWith('--')) await database.run(statement)
  }
}
