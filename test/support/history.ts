/** Checks history: its open versions are the table, and no two versions of a row overlap. */
import { reportOf, type ReportName } from '../../schema/index.ts'
import { tableOf } from '../../schema/tables.ts'
import type { Tide } from './tide.ts'

const tablesOf = (report: ReportName): string[] => {
  const table = tableOf(reportOf(report))
  return [table.name, ...table.children.map(({ name }) => name)]
}

/** Returns the tables whose open versions differ from their rows. */
export async function disagreeing({ warehouse }: Pick<Tide, 'warehouse'>, report: ReportName): Promise<string[]> {
  const found: string[] = []
  for (const table of tablesOf(report)) {
    const open = `SELECT * EXCLUDE (_valid_from, _valid_to) FROM history."${table}" WHERE _valid_to IS NULL`
    const [row] = await warehouse.rows<{ n: number }>(`
      SELECT (SELECT count(*) FROM (FROM main."${table}" EXCEPT ALL ${open})) +
        (SELECT count(*) FROM (${open} EXCEPT ALL FROM main."${table}")) AS n`)
    if (row?.n !== 0) found.push(`${table}: ${row?.n}`)
  }
  return found
}

/** Returns rows of which two versions are valid at the same time. */
export async function overlapping({ warehouse }: Pick<Tide, 'warehouse'>, report: ReportName): Promise<unknown[]> {
  const { name, key, children } = tableOf(reportOf(report))
  const tables = [
    { table: name, by: key },
    ...children.map((child) => ({ table: child.name, by: [...key, '_child_key'] })),
  ]
  const found = await Promise.all(
    tables.map(({ table, by }) =>
      warehouse.rows(`
        SELECT '${table}' AS "table", a.* FROM (
          SELECT *, lead(_valid_from) OVER (PARTITION BY ${by.join(', ')} ORDER BY _valid_from, _valid_to NULLS LAST) AS next
          FROM history."${table}") a
        WHERE next < coalesce(_valid_to, TIMESTAMPTZ '9999-01-01')`),
    ),
  )
  return found.flat()
}
