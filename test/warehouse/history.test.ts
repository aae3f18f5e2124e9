/** Shortening the books: they say the same afterwards, in fewer rows; and runs whose process ended are not running. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NO_RUN_COUNTS } from '../../src/plan/runCounts.ts'
import { events } from '../../schema/reports/events.ts'
import { type Instant, plusMs } from '../../src/instant.ts'
import type { RunRecord } from '../../src/warehouse/books/books.ts'
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
