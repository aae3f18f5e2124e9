/** Reads the mark and the number of rows that are not deleted from a warehouse. */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../../src/instant.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'

interface Held {
  readonly warehouse: Warehouse
}

/** Returns the mark of a scope of the report: a currency, a record, or ''. */
export async function markOf({ warehouse }: Held, report: ReportName, scope = ''): Promise<Instant | undefined> {
  const [row] = await warehouse.rows<{ value: Instant }>(
    `SELECT epoch_us(value) AS value FROM tidemark.marks
     WHERE report = '${report}' AND scope = '${scope}' AND mark IN ('modified_since', 'since')`,
  )
  return row?.value
}

/** Returns the number of rows that are not deleted. */
export async function liveRows({ warehouse }: Held, report: ReportName, scope = ''): Promise<number> {
  const inScope = scope === '' ? '' : ` AND target_currency = '${scope}'`
  const [row] = await warehouse.rows<{ rows: number }>(
    `SELECT count(*) AS rows FROM main."${report}" WHERE NOT is_deleted${inScope}`,
  )
  return row?.rows ?? 0
}
