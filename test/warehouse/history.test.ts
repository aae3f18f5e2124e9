/** Shortening the books: they say the same afterwards, in fewer rows; and runs whose process ended are not running. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NO_RUN_COUNTS } from '../../src/plan/runCounts.ts'
import { events } from '../../schema/reports/events.ts'
import { type Instant, plusMs } from '../../src/instant.ts'
import type { RunRecord } from '../../src/warehouse/books/runs.ts'
import { WORLD_REPORTS } from '../../src/sandbox/server.ts'
import { aTide } from '../support/tide.ts'
import { aClosedWindow, aFolder, aWarehouse, loadRows, NOON, type OpenWarehouse, openAt } from '../support/warehouse.ts'

let opened: OpenWarehouse
beforeAll(async () => {
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

const minutes = (count: number): Instant => plusMs(NOON, count * 60_000)

const aRun = (runId: string, more: Partial<RunRecord> = {}): RunRecord => ({
  runId,
  report: 'events',
  kind: 'incremental',
  state: 'done',
  startedAt: NOON,
  endedAt: minutes(1),
  ...NO_RUN_COUNTS,
  ...more,
})

const aWindow = (since: number | undefined, until: number) =>
  aClosedWindow({ since: since === undefined ? undefined : minutes(since), until: minutes(until) })

const covered = () =>
  opened.warehouse.rows<{ since: number | null; until: number }>(`
    SELECT (epoch_us(since) - ${NOON})::BIGINT // 60000000 AS since, (epoch_us(until) - ${NOON})::BIGINT // 60000000 AS until
    FROM tidemark.windows ORDER BY until`)

it('joins old windows where they touch, keeps every gap, and leaves newer ones as they are', async () => {
  const { warehouse } = opened
  const closes = [aWindow(undefined, 2), aWindow(2, 5), aWindow(4, 6), aWindow(10, 11), aWindow(11, 12)]
  await loadRows(opened, events, [{ eventId: 1 }], { closes, now: minutes(1) })
  await loadRows(opened, events, [{ eventId: 1 }], { closes: [aWindow(12, 20)], now: minutes(600) })
  const trimmed = await warehouse.trimBooks(minutes(300))
  expect(await covered()).toEqual([
    { since: null, until: 6 },
    { since: 10, until: 12 },
    { since: 12, until: 20 },
  ])
  expect(trimmed.windows).toBe(3)
  expect(await warehouse.trimBooks(minutes(300))).toMatchObject({ windows: 0 })
})

it('keeps the last run of each kind and end, and what is newer', async () => {
  const { warehouse } = opened
  await warehouse.recordRun(aRun('old'))
  await warehouse.recordRun(aRun('last', { endedAt: minutes(2) }))
  await warehouse.recordRun(aRun('failed', { state: 'failed' }))
  await warehouse.recordRun(aRun('new', { report: 'budgets', endedAt: minutes(400) }))
  await warehouse.recordRun(aRun('newer', { report: 'budgets', endedAt: minutes(500) }))
  await warehouse.trimBooks(minutes(300))
  const runs = await warehouse.rows<{ run_id: string }>('SELECT run_id FROM tidemark.runs ORDER BY 1')
  expect(runs.map((run) => run.run_id)).toEqual(['failed', 'last', 'new', 'newer'])
})

it('removes an old load that inserted nothing as soon as no row names it any more', async () => {
  await using own = await aWarehouse({ ownIdentity: true })
  const versions = ['10:00', '10:01', '10:02'].map((time) => [
    { eventId: 1, aggregateRecordModified: `2026-03-01T${time}:00Z` },
  ])
  for (const [place, rows] of versions.entries()) await loadRows(own, events, rows, { now: minutes(place) })
  await loadRows(own, events, [{ eventId: 2 }], { now: minutes(600) })
  const loads = () => own.warehouse.rows<{ load_id: number }>('SELECT load_id FROM tidemark.loads ORDER BY 1')
  const [first, , third, last] = await loads()
  expect(await own.warehouse.trimBooks(minutes(300))).toMatchObject({ loads: 1 })
  expect(await loads()).toEqual([first, third, last])
})

it('shortens the books of all reports within the memory that is the default', { tags: 'long' }, async () => {
  await using tide = await aTide()
  for (let run = 0; run < 2; run += 1) {
    await tide.sync()
    tide.clock.pass(3_600_000)
    for (const report of WORLD_REPORTS)
      for (const key of tide.sandbox.world.liveKeys(report)) tide.sandbox.world.edit(report, key)
  }
  await tide.sync()
  const { loads } = await tide.warehouse.trimBooks(plusMs(tide.clock.now(), 3_600_000))
  expect(loads).toBeGreaterThan(0)
})

it('removes reconciles and backfills that ended long ago, but not the last reconcile of a report, nor an open one', async () => {
  await using own = await aWarehouse({ ownIdentity: true })
  const noon = `make_timestamptz(${NOON})`
  const later = (count: number) => `${noon} + INTERVAL ${count} MINUTES`
  await own.warehouse.rows(`INSERT INTO tidemark.reconciles SELECT col0, 'events', '', ${noon}, NULL, col1, 0, 0, 0, 0, 0, NULL
    FROM (VALUES ('old', ${later(1)}), ('last', ${later(2)}), ('open', NULL))`)
  await own.warehouse.rows(`INSERT INTO tidemark.backfills SELECT col0, 'events', ${noon}, ${noon}, col1, 1, ${noon}, ${noon}, col2
    FROM (VALUES ('old', 'done', ${later(1)}), ('failed', 'failed', ${later(1)}), ('new', 'done', ${later(400)}))`)
  await own.warehouse.rows(`INSERT INTO tidemark.backfill_windows (backfill_id, number, scope, since, until, state, planned_requests, attempts)
    SELECT backfill_id, 1, '', since, until, state, 1, 1 FROM tidemark.backfills`)
  await own.warehouse.trimBooks(minutes(300))
  const left = await own.warehouse.rows<{ left: string }>(`
    SELECT 'reconcile ' || reconcile_id AS left FROM tidemark.reconciles UNION ALL
    SELECT 'backfill ' || backfill_id FROM tidemark.backfills UNION ALL
    SELECT 'window ' || backfill_id FROM tidemark.backfill_windows ORDER BY 1`)
  expect(left.map((each) => each.left)).toEqual([
    'backfill failed',
    'backfill new',
    'reconcile last',
    'reconcile open',
    'window failed',
    'window new',
  ])
})

it('records a run whose process ended as stopped', async () => {
  await using folder = await aFolder()
  const file = `${folder.path}/warehouse.duckdb`
  const first = await openAt(file)
  await first.recordRun(aRun('a', { state: 'running', endedAt: undefined }))
  await first.close()
  await using second = await openAt(file)
  const [run] = await second.rows<{ state: string; ended: boolean; error_code: string }>(
    'SELECT state, ended_at IS NOT NULL AS ended, error_code FROM tidemark.runs',
  )
  expect(run).toEqual({ state: 'stopped', ended: true, error_code: 'CANCELLED' })
})
