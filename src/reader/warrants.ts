/** Reads warrants: for each report that a statement reads, how complete its rows are. */
import { z } from 'zod'
import { counted, wholeSeconds } from '../words.ts'
import { DELETES_VISIBLE, isConfigured, JOIN_FIGURES, joinPerReport } from '../warehouse/books/bookFigures.ts'
import { iso, type Sql } from '../warehouse/database/sql.ts'

export const Warrant = z.object({
  report: z.string(),
  /** The tables contain all rows that were modified up to this time. Null if no run has read the report to its end. */
  complete_up_to: z.string().nullable(),
  /** Number of time ranges before the mark that were not read. */
  gaps: z.number(),
  /** How deleted rows are found: by a `flag`, by comparing two reads (`diff`), by their `absence`, or not (`none`). */
  deletes_visible: z.string().nullable(),
  rejected: z.number(),
  misfits: z.number(),
  not_running_because: z.string().nullable(),
})
/** How complete one report's tables are. A query returns a warrant for each report that its statement reads. */
export interface Warrant extends z.infer<typeof Warrant> {}

/** SQL for the reports that a statement reads. Examples: `main.events__meeting_rooms`, `changes.events('start')`. */
const READ_REPORTS = `list_transform(regexp_extract_all(json_serialize_sql($1::VARCHAR)::VARCHAR, '"(table|function)_name":"([^"]+)"', 2),
  lambda each: split_part(lower(each), '__', 1))`

const WARRANTS = `
  SELECT s.report, ${iso('m.mark')} AS complete_up_to, coalesce(g.gaps, 0) AS gaps, ${DELETES_VISIBLE},
    coalesce(j.rejected, 0) AS rejected, coalesce(v.misfits, 0) AS misfits,
    coalesce(s.paused_reason, s.off_reason) AS not_running_because
  FROM tidemark.report_states s
  ${JOIN_FIGURES}
  ${joinPerReport('g', 'count(*) - count(DISTINCT scope) AS gaps', `covered c JOIN tidemark.report_states s USING (report) WHERE ${isConfigured('c.scope')}`)}
  WHERE list_contains(${READ_REPORTS}, s.report) ORDER BY s.report`

export const warrantsOf = (sql: Pick<Sql, 'rows'>, statement: string): Promise<Warrant[]> =>
  sql.rows<Warrant>(WARRANTS, [statement])

/** Describes how complete a report is. Example: `audit_entries: never read to its end; deletions do not show`. */
export function warrantText({ report, complete_up_to: mark, ...warrant }: Warrant): string {
  const { gaps, deletes_visible: deletes, rejected, misfits, not_running_because: stopped } = warrant
  const parts = [
    mark === null ? 'never read to its end' : `complete up to ${wholeSeconds(mark)}`,
    ...(gaps === 0 ? [] : [`${counted(gaps, 'gap')} before that`]),
    ...(deletes === null || deletes === 'none' ? ['deletions do not show'] : [`deletions show by ${deletes}`]),
    ...(rejected === 0 ? [] : [counted(rejected, 'rejected row')]),
    ...(misfits === 0 ? [] : [`${counted(misfits, 'value')} that did not fit`]),
    ...(stopped === null ? [] : [`not running: ${stopped}`]),
  ]
  return `${report}: ${parts.join('; ')}`
}
