/**
 * A service whose clock ran ahead, or was set back (product contract §5.1): what was modified between two runs arrives,
 * although its stamps lie far before the mark.
 */
import { expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { openClient } from '../../src/client/reporting.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { plusMs } from '../../src/instant.ts'
import { ENTITY_IDS } from '../../src/sandbox/server.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { markOf } from '../support/held.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'
import { differencesOf } from './stories.ts'

const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S

/** One run after so many seconds, by a process of its own, while the service's clock is off by so many. */
async function runAfter(
  tide: Tide,
  seconds: number,
  offset: number,
  reports: readonly ReportName[] = ['events'],
): Promise<void> {
  tide.sandbox.setFaults([`skew:${seconds + offset}`])
  const clock = { ...systemClock, now: () => plusMs(systemClock.now(), seconds * 1_000) }
  await using client = openClient(tide.config.service, { clock })
  const outcomes = await syncAll({ ...tide.context, client, clock }, reports)
  for (const { error } of outcomes) expect(error?.message).toBeUndefined()
}

/** A row is edited after so many seconds: each its own, since one that is edited before and after can't say which is newer. */
function editAfter(
  tide: Tide,
  seconds: number,
  { offset, index, report = 'events' }: { offset: number; index: number; report?: 'events' | 'enquiries' },
): void {
  tide.sandbox.setFaults([`skew:${seconds + offset}`])
  tide.sandbox.world.edit(report, tide.sandbox.world.liveKeys(report)[index] as number)
}

it.each([
  ['the clock is set back behind the mark', 20 * MINUTE_S, -HOUR_S],
  ['it passes the mark again before the next run', 2 * HOUR_S, -HOUR_S],
])(
  'a row that is edited right after the clock was set back arrives, where %s',
  { tags: 'long' },
  async (_, pause, offset) => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    await runAfter(tide, 0, 0)
    const mark = await markOf(tide, 'events')
    editAfter(tide, 30, { offset, index: 2 })
    await runAfter(tide, pause, offset)
    expect(await differencesOf(tide, 'events')).toEqual([])
    expect(await markOf(tide, 'events')).toBeGreaterThanOrEqual(mark ?? Infinity)
  },
)

it.each([
  ['events', 'audit_entries', 20 * MINUTE_S],
  ['events', 'audit_entries', 2 * HOUR_S],
  ['enquiries', 'enquiry_audit_entries', 20 * MINUTE_S],
  ['enquiries', 'enquiry_audit_entries', 2 * HOUR_S],
] as const)(
  'what is done to a record of %s right after the clock was set back is in %s, where the next run is %i seconds later',
  { tags: 'long' },
  async (report, trail, pause) => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    await runAfter(tide, 0, 0, [report, trail])
    editAfter(tide, 30, { offset: -HOUR_S, index: 2, report })
    await runAfter(tide, pause, -HOUR_S, [report, trail])
    const { world } = tide.sandbox
    const key = report === 'events' ? 'entity_record_id' : 'enquiry_id'
    const held = await tide.warehouse.rows<{ id: number; n: number }>(
      `SELECT ${key} AS id, count(*) AS n FROM ${trail} GROUP BY id ORDER BY id`,
    )
    const keys = world.keys(report).toSorted((a, b) => a - b)
    expect(held).toEqual(keys.map((id) => ({ id, n: world.auditEntries(ENTITY_IDS[report], id).length })))
  },
)

it('a row that is edited right after the clock was set back arrives, although the run behind it knew the old time', {
  tags: 'long',
}, async () => {
  await using tide = await aTide({ sandbox: { rows: 12 } })
  let seconds = 0
  const clock: Clock = {
    ...systemClock,
    now: () => plusMs(systemClock.now(), seconds * 1_000),
    monotonicMs: () => systemClock.monotonicMs() + seconds * 1_000,
  }
  await using client = openClient(tide.config.service, { clock })
  const run = async (at: number, offset: number) => {
    seconds = at
    tide.sandbox.setFaults([`skew:${at + offset}`])
    const [outcome] = await syncAll({ ...tide.context, client, clock }, ['events'])
    expect(outcome?.error?.message).toBeUndefined()
  }
  await run(0, 0)
  editAfter(tide, 30, { offset: -HOUR_S, index: 2 })
  await run(20 * MINUTE_S, -HOUR_S)
  await run(40 * MINUTE_S, -HOUR_S)
  expect(await differencesOf(tide, 'events')).toEqual([])
})

it('rows that are edited between runs arrive while the mark stands in the future, left by a clock that ran ahead', {
  tags: 'long',
}, async () => {
  await using tide = await aTide({ sandbox: { rows: 12 } })
  await runAfter(tide, 0, 24 * HOUR_S)
  const mark = await markOf(tide, 'events')
  for (let run = 1; run <= 4; run += 1) {
    const at = run * 20 * MINUTE_S
    editAfter(tide, at - 19 * MINUTE_S, { offset: 0, index: run })
    await runAfter(tide, at, 0)
    expect(await differencesOf(tide, 'events'), `run ${run}`).toEqual([])
    expect(await markOf(tide, 'events')).toBe(mark)
  }
  const [last] = await tide.warehouse.rows<{ minutes: number }>(
    `SELECT date_diff('minute', max(since), max(until)) AS minutes FROM tidemark.windows WHERE until < now() + INTERVAL 12 HOUR`,
  )
  expect(last?.minutes).toBeLessThanOrEqual(31)
})

it('a clock that only goes on leaves each window as long as the overlap and the time since the last one', async () => {
  await using tide = await aTide({ sandbox: { rows: 12 } })
  await runAfter(tide, 0, 0)
  const mark = (await markOf(tide, 'events')) ?? Infinity
  await runAfter(tide, 2 * HOUR_S, 0)
  const [window] = await tide.warehouse.rows<{ since: number }>(
    'SELECT epoch_us(since) AS since FROM tidemark.windows ORDER BY until DESC LIMIT 1',
  )
  expect(window?.since).toBe(mark - 10 * MINUTE_S * 1_000_000)
})
