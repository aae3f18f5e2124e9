/** How far a report is complete, put together from its scopes: of currencies, those that are asked for count. */
import { READ_UP_TO } from '../../plan/marks.ts'
import { text } from '../database/sqlText.ts'

/** Whether a scope counts, beside the row `s` of `tidemark.report_states`. */
export const isAsked = (scope: string): string => `(s.scopes IS NULL OR list_contains(s.scopes, ${scope}))`

/** Whether a row `m` of `tidemark.marks` says how far its scope was read. */
export const IS_READ_UP_TO = `m.mark IN (${READ_UP_TO.map(text).join(', ')})`

/**
 * The mark of each report: the lowest of its currencies, and none before each of them was read; of an audit trail, whose
 * records are asked one by one, the highest.
 */
export const REPORT_MARKS = `
  SELECT m.report, CASE WHEN bool_or(m.mark = 'since') THEN max(m.value)
    WHEN count(*) >= coalesce(any_value(len(s.scopes)), 0) THEN min(m.value) END AS mark
  FROM tidemark.marks m JOIN tidemark.report_states s USING (report)
  WHERE ${IS_READ_UP_TO} AND ${isAsked('m.scope')} GROUP BY m.report`
