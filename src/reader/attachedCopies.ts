/** The copies that the live server shows. A hard link keeps the file of a copy that a publication has replaced. */
import { copyFile, link, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../warehouse/database/duckdb.ts'
import { name, text } from '../warehouse/database/sql.ts'
import { createRule } from './allowList.ts'

/** The server shows the newest copy. Statements can continue on the previous copy, but not on older copies. */
const COPIES_KEPT = 2

/** The macros that check statements are in this database, because readers do not see temporary macros. */
export const MEMORY = 'memory.main.'

export class AttachedCopies {
  readonly #database: Database
  readonly #published: string
  readonly #folder: string
  readonly #shown: number[] = []
  #number = 0

  constructor(database: Database, { published, folder }: Record<'published' | 'folder', string>) {
    this.#database = database
    this.#published = published
    this.#folder = folder
  }

  /** Shows the newest published copy in the views. Does nothing until the first copy exists. */
  async show(): Promise<void> {
    const number = this.#number + 1
    const file = this.#file(number)
    try {
      if (!(await linkCopy(this.#published, file))) return
      await this.#database.run(`ATTACH ${text(file)} AS ${copyName(number)} (READ_ONLY)`)
      await this.#createViews(copyName(number))
    } catch (error) {
      await this.#remove(number)
      throw error
    }
    this.#number = number
    this.#shown.push(number)
    for (const old of this.#shown.splice(0, this.#shown.length - COPIES_KEPT)) await this.#remove(old)
  }

  async #createViews(copy: string): Promise<void> {
    await this.#database.transaction(async (sql) => {
      const shown = await sql.rows<{ schema: string; table: string }>(`
        SELECT schema_name AS "schema", table_name AS "table" FROM duckdb_tables() WHERE database_name = '${copy}'
        UNION ALL
        SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = '${copy}' AND NOT internal`)
      for (const schema of new Set(shown.map((each) => each.schema)))
        await sql.run(`CREATE SCHEMA IF NOT EXISTS memory.${name(schema)}`)
      for (const { schema, table } of shown) {
        const place = `${name(schema)}.${name(table)}`
        await sql.run(`CREATE OR REPLACE VIEW memory.${place} AS FROM ${copy}.${place}`)
      }
      await createRule(sql, MEMORY)
    })
  }

  async #remove(number: number): Promise<void> {
    await this.#database.run(`DETACH DATABASE IF EXISTS ${copyName(number)}`)
    await rm(this.#file(number), { force: true })
  }

  #file(number: number): string {
    return join(this.#folder, `${copyName(number)}.duckdb`)
  }
}

const copyName = (number: number): string => `copy_${number}`

/** Creates a link to the newest copy, so that its file survives the next publication. Returns false without a copy. */
async function linkCopy(published: string, file: string): Promise<boolean> {
  try {
    // `link` does not follow a symbolic link, so `realpath` finds the file behind it.
    await link(await realpath(published), file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    // Some file systems have no hard links.
    await copyFile(published, file)
  }
  return true
}
