/** What the console calls somebody to look at: what is wrong, and nothing that only looks so. */
import { describe, expect, it } from 'vitest'
import { type ReportName, reportNames } from '../../schema/index.ts'
import type { Standing } from '../../src/status/standing.ts'
import { attentionOf } from '../../src/console/attention.ts'
import type { AllSettings } from '../../src/console/backend.ts'

const DAY_SECONDS = 86_400

const settings = Object.fromEntries(
  reportNames.map((report) => [
    report,
    { enabled: true, every: '5m', everyMs: 300_000, settleMs: 0, overlapMs: 0, start: 0 },
  ]),
) as AllSettings

const standing = (report: ReportName, more: Partial<Standing> = {}): Standing => ({
  report,
  state: 'done',
  mark: '2026-01-01T00:00:00Z',
  lag_seconds: 30,
  last_run: '2026-01-01T00:00:00Z',
  rows: 1,
  deleted: 0,
  rejected: 0,
  misfits: 0,
  deletes_visible: null,
  not_running_because: null,
  error: null,
  reconcile_missed: null,
  late_rows: null,
  largest_lateness_seconds: null,
  advised_overlap: null,
  future_rows: null,
  unstamped_rows: null,
  skipped_records: null,
  not_counted_because: null,
  coverage: [],
  explained: null,
  ...more,
})

const kinds = (...standings: Standing[]) =>
  attentionOf({ standings, pauses: [], settings }).map(({ report, kind }) => `${report} ${kind}`)

describe('what needs somebody', () => {
  it('is nothing while all is well', () => {
    expect(kinds(standing('events'), standing('enquiry_audit_entries'))).toEqual([])
  })

  it('is a report that is days behind its rhythm', () => {
    expect(kinds(standing('events', { lag_seconds: DAY_SECONDS }))).toEqual(['events behind'])
  })

  it('is no audit report on a quiet service: only records that changed are asked about', () => {
    expect(kinds(standing('enquiry_audit_entries', { lag_seconds: DAY_SECONDS }))).toEqual([])
  })

  it('is a failure before rows that were refused', () => {
    const error = { code: 'SERVICE_TIMEOUT', message: 'no answer', cure: 'Look.' }
    expect(kinds(standing('budgets', { rejected: 2 }), standing('events', { state: 'failed', error }))).toEqual([
      'events failed',
      'budgets rejected',
    ])
  })
})
