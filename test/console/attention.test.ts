/** What the console calls somebody to look at: what is wrong, and nothing that only looks so. */
import { describe, expect, it } from 'vitest'
import { type ReportName, reportNames } from '../../schema/index.ts'
import type { Standing } from '../../src/status/standing.ts'
import { attentionOf } from '../../src/console/attention.ts'
import { outcomesOf } from '../../src/console/outcomes.ts'
import { noFigures } from '../../src/sync/reportOutcome.ts'
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
  reconcile_differed: null,
  late_rows: null,
  largest_lateness_seconds: null,
  advised_overlap: null,
  future_rows: null,
  unstamped_rows: null,
  skipped_records: null,
  not_counted_because: null,
  requests: null,
  coverage: [],
  explained: null,
  ...more,
})

const kinds = (...standings: Standing[]) =>
  attentionOf({ standings, pauses: [], settings, nextTicks: [] }).map(
    ({ reports, kind }) => `${reports.join()} ${kind}`,
  )

it('has the singular for one row', () => {
  const [rejected] = attentionOf({
    standings: [standing('events', { rejected: 1 })],
    pauses: [],
    settings,
    nextTicks: [],
  })
  expect(rejected?.title).toBe('events: 1 row could not be stored')
  const answer = { dismissed: [{ report: 'events', rows: 1 }], reset: [{ report: 'events', rows: 1 }] }
  const retried = [{ report: 'events', tried: 1, loaded: 1, rejected: 0 }]
  const figures = { ...noFigures(), rows: 1 }
  const outcome = { report: 'events', state: 'done', pages: 1, elapsedMs: 1, figures }
  expect(outcomesOf({ ...answer, retried, outcome }).map(({ text }) => text)).toEqual([
    'events: done, 1 row',
    'events: 1 of 1 row loaded, 0 rejected again',
    'events: 1 rejected row dismissed',
    'events: 1 row to read again',
  ])
})

describe('what needs somebody', () => {
  it('is nothing while all is well', () => {
    expect(kinds(standing('events'), standing('enquiry_audit_entries'))).toEqual([])
  })

  it('is a report that is days behind its rhythm', () => {
    expect(kinds(standing('events', { lag_seconds: DAY_SECONDS }))).toEqual(['events behind'])
  })

  it('is no report that keeps the rhythm of its budget', () => {
    const requests = { used: 1, needed: 288, forecast: 2, planned_ms: 43_200_000, due: null }
    expect(kinds(standing('events', { lag_seconds: DAY_SECONDS, requests }))).toEqual([])
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

const failed = (report: ReportName, message: string) =>
  standing(report, {
    state: 'failed',
    error: { code: 'SERVICE_UNAVAILABLE', message: `${report}: ${message}`, cure: 'Wait.' },
  })

const refusal = (report: ReportName, scope: string) => ({
  report,
  code: 'SCOPE_MISSING',
  reason: `${report}: 401`,
  cure: `Add ${scope}; then run: tidemark resume ${report}`,
})

describe('a cause', () => {
  const secret = {
    code: 'CREDENTIALS_REFUSED',
    reason: 'the secret is wrong',
    cure: 'Correct it; then run: tidemark check',
  }

  it('is one card for a wrong secret, which names each report that it stops', () => {
    const standings = [
      standing('events', { state: 'paused' }),
      standing('budgets', { state: 'never run' }),
      standing('enquiries', { state: 'off' }),
      standing('merf_submissions', { state: 'paused' }),
    ]
    const byHand = {
      report: 'merf_submissions',
      code: 'REPORT_PAUSED',
      reason: 'paused by an operator',
      cure: '',
    } as const
    const cards = attentionOf({ standings, pauses: [{ report: 'events', ...secret }, byHand], settings, nextTicks: [] })
    expect(cards).toMatchObject([
      {
        reports: ['events', 'budgets'],
        title: '2 reports are paused',
        why: secret.reason,
        urgent: true,
        action: 'resume',
      },
      {
        reports: ['merf_submissions'],
        title: 'merf_submissions is paused',
        why: 'paused by an operator',
        urgent: false,
      },
    ])
  })

  it('is one card for reports that fail for the same reason, with the time of the first next try', () => {
    const standings = [
      failed('events', 'no answer (503)'),
      failed('budgets', 'no answer (503)'),
      failed('enquiries', 'too slow'),
    ]
    const nextTicks = [
      { report: 'events', work: 'incremental', atMs: Date.UTC(2026, 0, 1, 10, 55) },
      { report: 'budgets', work: 'incremental', atMs: Date.UTC(2026, 0, 1, 10, 52) },
      { report: 'merf_submissions', work: 'incremental', atMs: 0 },
      { report: 'events', work: 'reconcile', atMs: 0 },
    ] as const
    expect(attentionOf({ standings, pauses: [], settings, nextTicks })).toMatchObject([
      {
        reports: ['events', 'budgets'],
        title: '2 reports failed',
        why: 'each report: no answer (503) (SERVICE_UNAVAILABLE)',
        next_try: '2026-01-01T10:52:00.000000Z',
      },
      { reports: ['enquiries'], title: 'enquiries failed', next_try: null },
    ])
  })

  it('with a cure for each report names them all in its command, and is not shared by reports that lack different scopes', () => {
    const names = ['events', 'budgets', 'enquiries', 'merf_submissions'] as const
    const pauses = [
      refusal('events', 'all'),
      refusal('budgets', 'all'),
      refusal('enquiries', 'enquiries.read'),
      refusal('merf_submissions', 'merf_submissions.read'),
    ]
    const standings = names.map((name) => standing(name, { state: 'paused' }))
    expect(attentionOf({ standings, pauses, settings, nextTicks: [] }).map(({ cure }) => cure)).toEqual([
      'Add all; then run: tidemark resume events budgets',
      'Add enquiries.read; then run: tidemark resume enquiries',
      'Add merf_submissions.read; then run: tidemark resume merf_submissions',
    ])
  })
})
