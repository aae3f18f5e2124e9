/** Converts a warehouse to one SQL text and back. Tests keep earlier layouts as such texts. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Database } from '../../src/warehouse/database/duckdb.ts'

const MEMORY = '256MB'

export const fileOf = (layout: number) => path.join(import.meta.dirname, '../fixtures', `layout${layout}.sql`)

interface Made {
  readonly schema: string
  readonly name: string
  readonly sql: string
}

const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`
const literal = (value: string | null): string => (value === null ? 'NULL' : `'${value.replaceAll("'", "''")}'`)

/** Leaves out views, because each opening creates them again. */
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

export async function restore(dump: string, path: string): Promise<void> {
  await using database = await Database.open(path, { memory: MEMORY })
  // Each line is one statement, because JSON escapes line breaks.
  for (const statement of (await readFile(dump, 'utf8')).split('\n')) {
    if (statement !== '' && !statement.startsWith('--')) await database.run(statement)
  }
}
