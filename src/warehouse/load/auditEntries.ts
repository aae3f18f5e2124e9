/** Audit entries have no identifier (spec §2), so a load replaces all entries of a window. */
import type { ReportTable } from '../../../schema/tables.ts'
import { countOf, type Sql, name, names, sameSql, text, time } from '../database/sql.ts'
import { recordReplaced } from '../tables/versions.ts'
import type { EntryWindow, MergeCounts } from './loadInput.ts'
import type { LoadTransaction } from './loadSteps.ts'
import { insertRowsSql } from './merge.ts'

/** Stores the staged entries. Deletes stored entries in the windows of the load that the service no longer returns. */
export async function mergeEntries(
  sql: Sql,
  load: LoadTransaction,
  windows: readonly EntryWindow[],
): Promise<MergeCounts> {
  const { input, table, staged, loadId } = load
  const target = `main.${name(table.name)}`
  await sql.run(`
    ${entryWindowsSql(table, windows)}
    CREATE OR REPLACE TEMP TABLE stored_entries AS
    SELECT t.rowid AS tid, ${names(table.asked, 't')}, t._row_hash AS row_hash,
      w.since <= w.until AND (t.timestamp IS NULL OR t.timestamp BETWEEN w.since AND w.until) AS in_window,
      row_number() OVER (PARTITION BY ${names(table.asked, 't')}, t._row_hash ORDER BY t.entry_number) AS nth
    FROM ${target} t JOIN asked_windows w ON ${sameSql(table.asked, 't', 'w')};
    CREATE OR REPLACE TEMP TABLE unchanged_entries (tid BIGINT, sid BIGINT);`)
  if (staged !== undefined) {
    await sql.run(`
      INSERT INTO unchanged_entries
      SELECT h.tid, n.sid FROM stored_entries h JOIN (
        SELECT rowid AS sid, ${names(table.asked)}, "~row_hash" AS row_hash,
          row_number() OVER (PARTITION BY ${names(table.asked)}, "~row_hash" ORDER BY "~ordinal") AS nth
        FROM staged) n ON ${sameSql(table.asked, 'h', 'n')} AND n.row_hash = h.row_hash AND n.nth = h.nth`)
  }
  const leaves = 'stored_entries WHERE in_window AND tid NOT IN (SELECT tid FROM unchanged_entries)'
  const [gone, unchanged] = [await countOf(sql, leaves), await countOf(sql, 'unchanged_entries')]
  const inserted = (staged?.rows ?? 0) - unchanged
  if (staged !== undefined && inserted > 0) {
    const columns = [...staged.columns, { name: 'entry_number', value: '', carried: 'true' }]
    const rows = newEntriesSql(table, { hasTime: columns.some((column) => column.name === 'timestamp') })
    await sql.run(insertRowsSql(load, { columns, rows }))
  }
  if (gone > 0) {
    const rows = `SELECT tid, ${time(input.serviceNow ?? input.now)} AS until FROM ${leaves}`
    await recordReplaced(sql, load.history, { table: table.name, key: table.key, loadId, rows })
    await sql.run(`DELETE FROM ${target} WHERE rowid IN (SELECT tid FROM ${leaves})`)
  }
  return { inserted, updated: 0, unchanged, deleted: gone }
}

/** Numbers new entries by time, after the last number stored for their record. */
function newEntriesSql(table: ReportTable, { hasTime }: { readonly hasTime: boolean }): string {
  const record = names(table.asked)
  const order = `${hasTime ? 's.timestamp, ' : ''}s."~ordinal"`
  return `(
    SELECT s.*, coalesce(l.last, 0) + row_number() OVER (PARTITION BY ${names(table.asked, 's')} ORDER BY ${order}) AS entry_number
    FROM staged s
    LEFT JOIN (
      SELECT ${record}, max(entry_number) AS last FROM main.${name(table.name)}
      JOIN (SELECT DISTINCT ${record} FROM asked_windows) USING (${record}) GROUP BY ALL) l ON ${sameSql(table.asked, 'l', 's')}
    WHERE s.rowid NOT IN (SELECT sid FROM unchanged_entries)) s`
}

function entryWindowsSql(table: ReportTable, windows: readonly EntryWindow[]): string {
  const columns = table.asked.map((column) => `${name(column.name)} ${column.type}`)
  const values = windows.map(({ record, since, until }) =>
    [...record.map((each) => text(String(each))), time(since), time(until)].join(', '),
  )
  return `
    CREATE OR REPLACE TEMP TABLE asked_windows (${columns.join(', ')}, since TIMESTAMPTZ, until TIMESTAMPTZ);
    ${values.length === 0 ? '' : `INSERT INTO asked_windows VALUES (${values.join('), (')});`}`
}
