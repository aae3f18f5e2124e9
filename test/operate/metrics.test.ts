/** Metrics: what runs leave in them, what is looked up when they are asked for, and what a scraper may rely on. */
import { describe, expect, it } from 'vitest'
import { backfillRun } from '../../jobs/backfill/backfillRun.ts'
import { Metrics } from '../../jobs/metrics/metrics.ts'
import { reportNames } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/config.ts'
import { errorCodes } from '../../src/errors.ts'
import { observedBy } from '../../src/observe.ts'
import { cancelBackfill } from '../../src/sync/backfill/backfill.ts'
import { type Pull, pullHere } from '../../src/sync/backfill/handover.ts'
import { bookFigures } from '../../src/warehouse/books/bookFigures.ts'
import { REQUIRED_ENV } from '../config/folder.ts'
import { aTideWithoutCollections as aTide, type TideOptions } from '../support/tide.ts'
import { scraped } from './exposition.ts'

async function watched(options: TideOptions = {}) {
  const { reports } = await loadConfig({ env: REQUIRED_ENV, cwd: '/nonexistent' })
  const files = { reports, warehouse: '', published: '' }
  const metrics = new Metrics({ config: files, clock: systemClock, version: '1.2.3' })
  const onEvent = metrics.onEvent.bind(metrics)
  const tide = await aTide({ ...options, observe: observedBy(metrics.observe), onEvent })
  files.warehouse = tide.config.warehouse
  return { tide, metrics, scrape: () => scraped(() => metrics.text()) }
}

describe('metrics', () => {
  it('tell what a run read and loaded, how far its mark is, and which requests it took', { tags: 'long' }, async () => {
    const { tide, metrics, scrape } = await watched()
    await using _ = tide
    using _owns = metrics.watchBooks(() => bookFigures(tide.warehouse))
    await tide.sync('events', 'enquiries')
    const { value, contentType } = await scrape()
    expect(contentType).toContain('text/plain; version=0.0.4')
    const events = { report: 'events', kind: 'incremental' }
    expect(value('tidemark_runs_total', { ...events, state: 'done' })).toBe(1)
    expect(value('tidemark_rows_total', { ...events, outcome: 'inserted' })).toBe(40)
    expect(value('tidemark_run_duration_seconds_count', events)).toBe(1)
    expect(value('tidemark_load_duration_seconds_count', { report: 'events' })).toBeGreaterThan(0)
    const asked = tide.sandbox.requests.count('/reportingapi/v1/EventReport/GetEventsReport')
    expect(value('tidemark_requests_total', { report: 'events', status: '200' })).toBe(asked)
    expect(value('tidemark_request_duration_seconds_count', { report: 'events' })).toBe(asked)
    expect(value('tidemark_answer_bytes_total', { report: 'events' })).toBeGreaterThan(1_000)
    expect(value('tidemark_token_requests_total', { status: '200' })).toBe(1)
    expect(value('tidemark_report_lag_seconds', { report: 'events' })).toBeGreaterThanOrEqual(29)
    expect(value('tidemark_report_lag_seconds', { report: 'budgets' })).toBeUndefined()
    expect(value('tidemark_report_last_success_timestamp_seconds', { report: 'events' })).toBeGreaterThan(1.7e9)
    expect(value('tidemark_owner')).toBe(1)
    expect(value('tidemark_build_info', { version: '1.2.3' })).toBe(1)
  })

  it('count a backfill that somebody cancelled as stopped, as its log and notices take it', async () => {
    const { tide, scrape } = await watched()
    await using _ = tide
    const backfill = { backfillId: 'backfill-1', report: 'enquiries' } as const
    const range = { from: tide.config.reports.enquiries.start, to: systemClock.now() }
    const pull: Pull = async (ask, signal) => {
      await cancelBackfill(tide.context, backfill.backfillId)
      return pullHere(tide.context)(ask, signal)
    }
    const { outcome, result } = await backfillRun(tide.context, { ...backfill, ...range }, { lanes: 1, pull })
    expect(result?.state).toBe('cancelled')
    expect(outcome).toMatchObject({ state: 'failed', error: { code: 'CANCELLED' } })
    const { value } = await scrape()
    expect(value('tidemark_runs_total', { report: 'enquiries', kind: 'backfill', state: 'stopped' })).toBe(1)
    expect(value('tidemark_runs_total', { report: 'enquiries', kind: 'backfill', state: 'done' }) ?? 0).toBe(0)
  })

  it('count errors by code, retries and throttling, and say that a report is paused', { tags: 'long' }, async () => {
    const { tide, metrics, scrape } = await watched({ sandbox: { faults: ['403@enquiries', '429@events:1'] } })
    await using _ = tide
    using _owns = metrics.watchBooks(() => bookFigures(tide.warehouse))
    await tide.attempt('events', 'enquiries')
    const { value } = await scrape()
    expect(value('tidemark_errors_total', { report: 'enquiries', code: 'REPORT_FORBIDDEN' })).toBe(1)
    expect(value('tidemark_runs_total', { report: 'enquiries', state: 'failed' })).toBe(1)
    expect(value('tidemark_requests_total', { report: 'enquiries', status: '403' })).toBe(1)
    expect(value('tidemark_report_paused', { report: 'enquiries' })).toBe(1)
    expect(value('tidemark_report_paused', { report: 'events' })).toBe(0)
    expect(value('tidemark_retries_total', { code: 'RATE_LIMITED' })).toBeGreaterThan(0)
    expect(value('tidemark_throttled_total')).toBeGreaterThan(0)
  })

  it('are served also while the books cannot be read: the last known lag, grown by the time since', {
    tags: 'long',
  }, async () => {
    const { tide, metrics, scrape } = await watched()
    await using _ = tide
    await tide.sync('events')
    let answers = true
    const books = () => (answers ? bookFigures(tide.warehouse) : new Promise<never>(() => undefined))
    using _owns = metrics.watchBooks(books)
    const before = (await scrape()).value('tidemark_report_lag_seconds', { report: 'events' }) ?? 0
    answers = false
    expect((await scrape()).value('tidemark_report_lag_seconds', { report: 'events' })).toBeGreaterThan(before)
  })

  it('have names by the conventions of Prometheus, and labels from closed lists', { tags: 'long' }, async () => {
    const { tide, metrics, scrape } = await watched({ sandbox: { faults: ['403@enquiries'] } })
    await using _ = tide
    metrics.watchQueues(() => Promise.resolve({ incremental: { waiting: 2 } }))
    await tide.attempt('events', 'enquiries')
    const { types, text, value } = await scrape()
    for (const [name, type] of types) {
      expect(name).toMatch(/^(tidemark|process)_[a-z_]+$/)
      expect(name.endsWith('_total'), name).toBe(type === 'counter')
      if (type === 'histogram') expect(name).toMatch(/_seconds$/)
      expect(text).toContain(`# HELP ${name} `)
    }
    const labels = [...text.matchAll(/(report|code)="([^"]*)"/g)].map(([, , value]) => value ?? '')
    const known: readonly string[] = [...reportNames, ...errorCodes]
    expect(labels.filter((label) => !known.includes(label))).toEqual([])
    expect(value('tidemark_queue_jobs', { queue: 'incremental', state: 'waiting' })).toBe(2)
    expect(value('tidemark_file_bytes', { file: 'warehouse' })).toBeGreaterThan(0)
    expect(value('tidemark_disk_free_bytes')).toBeGreaterThan(0)
    expect(value('tidemark_event_loop_delay_seconds', { percentile: '99' })).toBeGreaterThanOrEqual(0)
  })
})
