/** Attaches published copies to the live server. Hard links keep their files readable after the next publication. */
import { copyFile, link, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../warehouse/database/duckdb.ts'
import { name, text } from '../warehouse/database/sql.ts'
import { createRule } from './allowList.ts'

/** The previous copy is kept for statements that still read it. */
const COPIES_KEPT = 2

/** The schema of the readers' macros. They are not temporary, because readers would not see temporary macros. */
export const MACRO_SCHEMA = 'memory.main.'

interface CopyPlaces {
  readonly published: string
  readonly folder: string
}

/** Returns a function that makes the views read the newest published copy. */
export function copyShower(database: Database, { published, folder }: CopyPlaces): () => Promise<void> {
  const shown: string[] = []
  let number = 0
  const fileOf = (copy: string): string => join(folder, `${copy}.duckdb`)
  const remove = async (copy: string): Promise<void> => {
    await database.run(`DETACH DATABASE IF EXISTS ${copy}`)
    await rm(fileOf(copy), { force: true })
  }
  return async () => {
    const copy = `copy_${number + 1}`
    try {
      if (!(await linkCopy(published, fileOf(copy)))) return
      await database.run(`ATTACH ${text(fileOf(copy))} AS ${copy} (READ_ONLY)`)
      await createViews(database, copy)
    } catch (error) {
      await remove(copy)
      throw error
    }
    number += 1
    shown.push(copy)
    for (const old of shown.splice(0, shown.length - COPIES_KEPT)) await remove(old)
  }
}

const createViews = (database: Database, copy: string): Promise<void> =>
  database.transaction(async (sql) => {
    const shown = await sql.rows<{ schema: string; table: string }>(`
      SELECT schema_name AS "schema", table_name AS "table" FROM duckdb_tables() WHERE database_name = '${copy}'
      UNION ALL
      SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = '${copy}' AND NOT internal`)
    for (const { schema, table } of shown) {
      const place = `${name(schema)}.${name(table)}`
      await sql.run(`CREATE SCHEMA IF NOT EXISTS memory.${name(schema)}`)
      await sql.run(`CREATE OR REPLACE VIEW memory.${place} AS FROM ${copy}.${place}`)
    }
    await createRule(sql, MACRO_SCHEMA)
  })

async function linkCopy(published: string, file: string): Promise<boolean> {
  try {
    // `link` does not follow symbolic links.
    await link(await realpath(published), file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    // Not every file system has hard links.
    await copyFile(published, file)
  }
  return true
}
