/** Finds the warehouse of a published copy, so that two warehouses never replace each other's copy. */
import { fileIdentity } from '../../files.ts'
import { Database } from '../database/duckdb.ts'
import { onlyRow, type Sql, text } from '../database/sql.ts'

/** `mark` identifies the warehouse, but a backup has the same one, so `file`, its path, is compared as well. */
const SOURCE = `SELECT max(value) FILTER (name = 'number_mark') AS mark,
  coalesce(max(value) FILTER (name = 'published_from'), '') AS file FROM tidemark.settings`
const sourceOf = (sql: Sql) => onlyRow<{ mark: string; file: string }>(sql, SOURCE)

export async function recordSource(sql: Sql, file: string): Promise<void> {
  if ((await sourceOf(sql)).file === file) return
  await sql.run(`DELETE FROM tidemark.settings WHERE name = 'published_from';
    INSERT INTO tidemark.settings VALUES ('published_from', ${text(file)})`)
}

/** Returns the path of the copy's warehouse, or undefined if it is `own` or its file is known not to exist. */
export async function otherSource(copy: Database, own: Database): Promise<string | undefined> {
  const { mark, file } = await sourceOf(copy)
  const identity = await fileIdentity(file).catch(() => 'not accessible')
  if (identity === undefined || identity === (await fileIdentity(own.path))) return undefined
  if ((await sourceOf(own)).mark === mark) return undefined
  return (await markIn(file, copy.memory).catch(() => mark)) === mark ? file : undefined
}

async function markIn(path: string, memory: string): Promise<string> {
  await using database = await Database.open(path, { readOnly: true, memory })
  return (await sourceOf(database)).mark
}
