/** Copies a warehouse into a new one. A second attempt copies only tables that differ. */
import { SyncError, usageError } from '../../errors.ts'
import { UNFILLED } from '../books/layout.ts'
import { type CatalogueTable, catalogueOf, definitionSql } from '../database/catalogue.ts'
import type { Database } from '../database/duckdb.ts'
import { name, names, onlyRow, type Sql, text } from '../database/sql.ts'
import { viewSql } from '../tables/tables.ts'
import { remakeHistoryView } from '../tables/versions.ts'

/** The name under which the warehouse to move is attached. */
export const SOURCE = 'source_of_move'
/** These tables are not copied: each warehouse has its own layout and settings. */
const OWN_TABLES = ['"tidemark"."layout"', '"tidemark"."settings"']

export interface MovedTable {
  readonly table: string
  readonly rows: number
  /** False if an earlier attempt had already copied the table. */
  readonly copied: boolean
}

/** Keeps the source's `numberPrefix`, because row hashes depend on it. */
export const beginMove = (sql: Sql, numberPrefix: string): Promise<void> =>
  sql.run(`
    INSERT INTO tidemark.layout VALUES (${UNFILLED}, now());
    INSERT INTO tidemark.settings VALUES ('number_mark', ${text(numberPrefix)})`)

/** Copies and compares all tables. Throws MOVE_UNFINISHED if they differ. */
export async function moveInto(target: Database, onTable: (table: MovedTable) => void): Promise<MovedTable[]> {
  const catalogue = await catalogueOf(target, text(SOURCE))
  const tables = catalogue.filter((each) => each.view === null && !OWN_TABLES.includes(nameOf(each)))
  await whileUnfilled(target, (sql) => defineTables(sql, tables))
  const moved: MovedTable[] = []
  for (const table of tables) {
    const { rows, copied } = await moveTable(target, nameOf(table), names(table.columns))
    moved.push({ table: `${table.schema}.${table.name}`, rows, copied })
    moved.slice(-1).forEach(onTable)
  }
  await whileUnfilled(target, async (sql) => {
    for (const { schema, name: view } of catalogue.filter((each) => each.view !== null)) {
      if (schema === 'current') await sql.run(viewSql(view))
      if (schema === 'history') await remakeHistoryView(sql, view.split('__')[0] ?? view, view)
    }
    await sql.run(`DELETE FROM tidemark.layout WHERE version = ${UNFILLED}`)
  })
  return moved
}

/** Throws USAGE_INVALID if another move has filled the target, which may be in use. */
const whileUnfilled = (target: Database, work: (sql: Sql) => Promise<void>): Promise<void> =>
  target.transaction(async (sql) => {
    if ((await sql.rows(`FROM tidemark.layout WHERE version = ${UNFILLED}`)).length > 0) return work(sql)
    const cure = 'Nothing is lost. Run the same command again: it prints the settings of the new warehouse.'
    throw usageError(`another "tidemark move" has filled ${target.path} meanwhile`, cure)
  })

const nameOf = ({ schema, name: table }: CatalogueTable): string => `${name(schema)}.${name(table)}`

async function defineTables(sql: Sql, tables: readonly CatalogueTable[]): Promise<void> {
  const known = new Map((await catalogueOf(sql)).map((table) => [nameOf(table), table.columns]))
  for (const table of tables) {
    const columns = known.get(nameOf(table))
    if (columns === undefined) await sql.run(definitionSql([table]))
    for (const { name: own, type, comment } of table.columns) {
      if (columns?.some((each) => each.name === own && each.type === type) ?? true) continue
      const [to, column] = [nameOf(table), name(own)]
      await sql.run(`
        ALTER TABLE ${to} DROP COLUMN IF EXISTS ${column}; ALTER TABLE ${to} ADD COLUMN ${column} ${type};
        COMMENT ON COLUMN ${to}.${column} IS ${text(comment)}`)
    }
  }
}

async function moveTable(target: Database, table: string, columns: string) {
  // A sum of row hashes does not depend on the order of the rows.
  const state = `SELECT count(*) AS rows, concat(count(*), '/', sum(hash(${columns}))) AS content FROM`
  const { rows, content } = await onlyRow<{ rows: number; content: string }>(target, `${state} ${SOURCE}.${table}`)
  const isSame = async () => (await onlyRow<{ content: string }>(target, `${state} ${table}`)).content === content
  if (await isSame()) return { rows, copied: false }
  const copy = `DELETE FROM ${table}; INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${SOURCE}.${table}`
  await whileUnfilled(target, (sql) => sql.run(copy))
  if (await isSame()) return { rows, copied: true }
  const cure = 'Run the same "tidemark move" again: it copies this table again. The old warehouse is unchanged.'
  throw new SyncError('MOVE_UNFINISHED', `${table} in ${target.path} differs from the table that was copied`, { cure })
}
