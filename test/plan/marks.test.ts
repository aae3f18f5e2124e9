/** Which marks a report has (product contract §3). */
import { expect, it } from 'vitest'
import { reports } from '../../schema/index.ts'
import { markNamesOf, WINDOW_MARKS } from '../../src/plan/marks.ts'

it('every windowed report has `modified_since`, events a second one, an audit trail `since`', () => {
  const audit = ['since']
  const windowed = ['modified_since']
  expect(Object.fromEntries(reports.map((report) => [report.name, markNamesOf(report)]))).toMatchObject({
    events: ['modified_since', 'aggregate_record_modified'],
    budgets: windowed,
    enquiries: windowed,
    automated_bookings: windowed,
    office_reservations: windowed,
    merf_submissions: windowed,
    enquiry_audit_entries: audit,
    audit_entries: audit,
  })
})

it('just one mark of a report says up to where it was read', () => {
  for (const report of reports) {
    expect(markNamesOf(report).filter((mark) => WINDOW_MARKS.some((each) => each === mark))).toHaveLength(1)
  }
})
