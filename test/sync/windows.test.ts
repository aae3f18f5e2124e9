/**
 * Windows and marks over real HTTP (product contract §5.5): the service's time counts, whatever it or our own clock
 * does, and every change arrives, however it is stamped.
 */
import { describe, expect, it } from 'vitest'
import { openClient } from '../../src/client/reporting.ts'
import { systemClock } from '../../src/clock.ts'
import { formatInstant, type Instant, MICROS_PER_SECOND, minusMs, parseInstant } from '../../src/instant.ts'
import type { World, WorldReport } from '../../src/sandbox/server.ts'
import { NEVER } from '../../src/sandbox/ticks.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { markOf } from '../support/held.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'
import { bodiesOf, differencesOf, failureOf, WORLD_REPORTS } from './stories.ts'
import { neverEditedByCreation, neverEditedByWalking, neverEditedInOne, stampsOfStyle } from './windowStories.ts'

const LONG = { tags: 'long' }
const MINUTE_MS = 60_000
const OVERLAP_MS = 10 * MINUTE_MS
const SETTLE_MS = 30_000
const THREE_HOURS_S = 3 * 3_600

const editOne = (world: World, report: WorldReport, index: number) =>
  world.edit(report, world.liveKeys(report)[index] as number)

/** The mark that a run leaves whose service said a time between `from` and now, in µs. */
function expectMarkNow(mark: number | undefined, from: Instant, skewSeconds = 0): void {
  const skew = skewSeconds * MICROS_PER_SECOND - SETTLE_MS * 1_000
  // The Date header has whole seconds.
  expect(mark).toBeGreaterThanOrEqual(from + skew - MICROS_PER_SECOND)
  expect(mark).toBeLessThanOrEqual(systemClock.now() + skew)
}

const sinceOf = (mark: number | undefined): string => formatInstant(minusMs((mark ?? 0) as Instant, OVERLAP_MS))

describe('the mark', () => {
  it('is the clock of the service less the settle time, never the stamp of the newest row', async () => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    editOne(tide.sandbox.world, 'events', 0)
    const from = systemClock.now()
    await tide.sync(...WORLD_REPORTS)
    for (const report of WORLD_REPORTS) {
      expectMarkNow(await markOf(tide, report, ['budgets', 'automated_bookings'].includes(report) ? 'EUR' : ''), from)
    }
    const [newest] = await tide.warehouse.rows<{ at: number }>(
      'SELECT epoch_us(max(aggregate_record_modified)) AS at FROM events',
    )
    expect(newest?.at).toBeGreaterThan((await markOf(tide, 'events')) ?? Infinity)
  })

  it('of events is there under both names', async () => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    await tide.sync('events', 'enquiries')
    const marks = await tide.warehouse.rows<{ report: string; mark: string }>(
      'SELECT report, mark FROM tidemark.marks ORDER BY 1, 2',
    )
    expect(marks).toEqual([
      { report: 'enquiries', mark: 'modified_since' },
      { report: 'events', mark: 'aggregate_record_modified' },
      { report: 'events', mark: 'modified_since' },
    ])
    const [distinct] = await tide.warehouse.rows<{ n: number }>(
      `SELECT count(DISTINCT value) AS n FROM tidemark.marks WHERE report = 'events'`,
    )
    expect(distinct?.n).toBe(1)
  })

  it('is not moved by rows that are stamped in the future, and these arrive at their next edit', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    await tide.sync('events', 'merf_submissions')
    const { world } = tide.sandbox
    for (const report of ['events', 'merf_submissions'] as const) {
      world.stampFuture(report, world.liveKeys(report)[0] as number, 24 * 60 * MINUTE_MS)
    }
    const from = systemClock.now()
    await tide.sync('events', 'merf_submissions')
    for (const report of ['events', 'merf_submissions'] as const) expectMarkNow(await markOf(tide, report), from)
    for (const report of ['events', 'merf_submissions'] as const) {
      for (const key of world.liveKeys(report)) world.edit(report, key)
    }
    await tide.sync('events', 'merf_submissions')
    expect(await differencesOf(tide, 'events', 'merf_submissions')).toEqual([])
  })
})

describe('a row that is edited again and again', () => {
  it('is newer in the warehouse after each run during which it was edited', async () => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    const { world } = tide.sandbox
    const [key] = world.liveKeys('events') as [number]
    const stop = new AbortController()
    let isEdited = true
    const editing = (async () => {
      while (!stop.signal.aborted) {
        if (isEdited) world.edit('events', key)
        await systemClock.sleep(40)
      }
    })()
    let last = 0
    for (let run = 0; run < 3; run += 1) {
      isEdited = true
      world.edit('events', key)
      await tide.sync('events')
      // A slow run may have asked for a time before the last edit: the row is not in its window then, but in the next.
      isEdited = false
      await tide.sync('events')
      const [held] = await tide.warehouse.rows<{ at: number }>(
        `SELECT epoch_us(aggregate_record_modified) AS at FROM events WHERE event_id = ${key}`,
      )
      expect(held?.at, `run ${run}`).toBeGreaterThan(last)
      last = held?.at ?? 0
    }
    stop.abort()
    await editing
    await tide.sync('events')
    expect(await differencesOf(tide, 'events')).toEqual([])
  })
})

async function marksOfSkewedClock(skew: number): Promise<void> {
  await using tide = await aTide({ sandbox: { rows: 12, faults: [`skew:${skew}`] } })
  await tide.sync('events', 'enquiries')
  for (const report of ['events', 'enquiries'] as const) editOne(tide.sandbox.world, report, 2)
  const from = systemClock.now()
  await tide.sync('events', 'enquiries')
  for (const report of ['events', 'enquiries'] as const) expectMarkNow(await markOf(tide, report), from, skew)
  expect(await differencesOf(tide, 'events', 'enquiries')).toEqual([])
}

describe("the service's clock", () => {
  it('three hours behind loses nothing, and marks follow it', () => marksOfSkewedClock(-THREE_HOURS_S))
  it('three hours ahead loses nothing, and marks follow it', LONG, () => marksOfSkewedClock(THREE_HOURS_S))

  // Rows that carry no stamp are ordered by the service's time of observation, so for them it may only jump ahead.
  it.each([
    ['events', 'either way', [THREE_HOURS_S, 0, -THREE_HOURS_S, -60, THREE_HOURS_S]],
    ['enquiries', 'ahead', [THREE_HOURS_S, 2 * THREE_HOURS_S]],
  ] as const)('may jump between runs of %s, %s, and no mark goes back', { tags: 'long' }, async (report, _, skews) => {
    await using tide = await aTide({ sandbox: { rows: 20 } })
    await tide.sync(report)
    const { world } = tide.sandbox
    // A row that is edited before and after a jump back can't say which version is newer: each jump has its own.
    const keys = world.liveKeys(report)
    let mark = await markOf(tide, report)
    for (const [n, skew] of skews.entries()) {
      tide.sandbox.setFaults([`skew:${skew}`])
      world.edit(report, keys[n] as number)
      // The first run after a jump still cuts its window on the time that it knew, and learns of the new one.
      await tide.sync(report)
      await tide.sync(report)
      expect(await differencesOf(tide, report), `after a jump to ${skew} s`).toEqual([])
      const now = await markOf(tide, report)
      expect(now).toBeGreaterThanOrEqual(mark ?? Infinity)
      mark = now
    }
  })

  it('is ours where answers carry no Date, and that is said', { tags: 'long' }, async () => {
    await using tide = await aTide({ sandbox: { rows: 12, faults: ['no-date'] } })
    const told: string[] = []
    await using client = openClient(
      { ...tide.config.service },
      { clock: systemClock, onEvent: ({ kind }) => told.push(kind) },
    )
    const run = () => syncAll({ ...tide.context, client }, ['events', 'enquiries'])
    await run()
    for (const report of ['events', 'enquiries'] as const) editOne(tide.sandbox.world, report, 2)
    const from = systemClock.now()
    expect(await run()).toMatchObject([{ state: 'done' }, { state: 'done' }])
    expectMarkNow(await markOf(tide, 'events'), from)
    expect(client.clockIsOurs).toBe(true)
    expect(told.filter((kind) => kind === 'clock is ours')).toHaveLength(1)
    expect(await differencesOf(tide, 'events', 'enquiries')).toEqual([])
  })
})

describe('a window', () => {
  it('begins at the mark less the overlap and ends a little after now, so late commits arrive', async () => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    await tide.sync(...WORLD_REPORTS)
    const { world, requests } = tide.sandbox
    for (const report of WORLD_REPORTS) world.lateCommit(report, OVERLAP_MS - MINUTE_MS)
    requests.clear()
    const marks = new Map<WorldReport, number | undefined>()
    for (const report of ['events', 'enquiries', 'merf_submissions', 'office_reservations'] as const) {
      marks.set(report, await markOf(tide, report))
    }
    const from = systemClock.now()
    await tide.sync(...WORLD_REPORTS)
    expect(await differencesOf(tide, ...WORLD_REPORTS)).toEqual([])
    for (const [report, mark] of marks) {
      const windows = bodiesOf(tide, report).filter(({ modifiedSince }) => modifiedSince !== undefined)
      expect(windows[0]?.modifiedSince, report).toBe(sinceOf(mark))
      const untils = windows.map(({ modifiedUntil = '' }) => parseInstant(modifiedUntil) ?? Infinity)
      expect(Math.max(...untils)).toBeGreaterThanOrEqual(from - MICROS_PER_SECOND)
      expect(Math.max(...untils)).toBeLessThanOrEqual(systemClock.now() + MICROS_PER_SECOND)
    }
  })

  it('takes stamps written in mixed styles exactly', { tags: 'long' }, () => stampsOfStyle('mixed'))

  it.each(['events', 'enquiries'] as const)(
    'of %s loses no row between two microseconds, wherever it is cut',
    { tags: 'long' },
    async (report) => {
      const settings = { defaults: { page_size: 20 } }
      await using tide = await aTide({ sandbox: { rows: 200, collections: false }, settings })
      await tide.sync(report)
      const { world } = tide.sandbox
      const { modified: first } = world.stampsOf(report, world.insert(report).key)
      // 100 ns steps: half of the rows stand between two microseconds.
      for (const [n, each] of world.liveKeys(report).slice(0, 80).entries()) {
        world.edit(report, each)
        world.setStamps(report, each, first - 5 * n)
      }
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
    },
  )
})

// One envelope of all rows, one bare array for each currency.
describe.each(['enquiries', 'automated_bookings'] as const)('rows that no modification filter matches', (report) => {
  const isEnvelope = report === 'enquiries'

  it(`are found by the first run of ${report}, in one response`, { tags: 'long' }, () => neverEditedInOne(report))

  it(
    `are found by the first run of ${report} by their time of creation, where one response is too small`,
    isEnvelope ? {} : LONG,
    () => neverEditedByCreation(report),
  )

  it(
    `are found by the first run of ${report} by walking everything, where creation is not asked for`,
    isEnvelope ? LONG : {},
    () => neverEditedByWalking(report),
  )
})

describe('rows that no modification filter matches', () => {
  it('arrive in an incremental run when they are new, since that asks for creation too', { tags: 'long' }, async () => {
    const settings = { reports: { office_reservations: { ask_created: false } } }
    await using tide = await aTide({ sandbox: { rows: 12 }, settings })
    await tide.sync('enquiries', 'merf_submissions', 'office_reservations')
    const { world, requests } = tide.sandbox
    for (const report of ['enquiries', 'merf_submissions'] as const) {
      world.setStamps(report, world.insert(report).key, NEVER)
    }
    requests.clear()
    const marks = {
      enquiries: await markOf(tide, 'enquiries'),
      merf_submissions: await markOf(tide, 'merf_submissions'),
    }
    await tide.sync('enquiries', 'merf_submissions', 'office_reservations')
    expect(await differencesOf(tide, 'enquiries', 'merf_submissions', 'office_reservations')).toEqual([])
    for (const report of ['enquiries', 'merf_submissions'] as const) {
      expect(bodiesOf(tide, report)[0]?.createdSince).toBe(sinceOf(marks[report]))
    }
    expect(bodiesOf(tide, 'office_reservations').filter((body) => 'createdSince' in body)).toEqual([])
  })
})

/** Runs a report while the service fails from that page on. */
async function failAfter(tide: Tide, report: WorldReport, pages: number) {
  const onProgress = (progress: { pages: number }) => {
    if (progress.pages >= pages) tide.sandbox.setFaults([`5xx@${report}`])
  }
  const failed = failureOf(await syncAll({ ...tide.context, onProgress }, [report]), report)
  tide.sandbox.setFaults([])
  return failed
}

describe('a run that ends in the middle', () => {
  it('keeps the slices that are proven and loaded, and the next run goes on from there', { tags: 'long' }, async () => {
    const settings = { defaults: { page_size: 20 }, limits: { load_rows_max: 60 } }
    await using tide = await aTide({ sandbox: { rows: 400, collections: false }, settings })
    const failed = await failAfter(tide, 'events', 50)
    expect(failed.code).toBe('SERVICE_UNAVAILABLE')
    const [kept] = await tide.warehouse.rows<{ until: number; rows: number; slices: number }>(
      `SELECT epoch_us(max(until)) AS until, sum(rows)::BIGINT AS rows, count(*) AS slices FROM tidemark.windows`,
    )
    expect(kept?.slices).toBeGreaterThan(3)
    const mark = await markOf(tide, 'events')
    expect(mark).toBe(kept?.until)
    const { world, requests } = tide.sandbox
    const missing = (await differencesOf(tide, 'events')).map((each) => Number(/the row (\d+)/.exec(each)?.[1]))
    expect(missing.length).toBeGreaterThan(0)
    const ticks = ((mark ?? 0) - Date.UTC(2020, 0, 1) * 1_000) * 10
    for (const key of missing) expect(world.stampsOf('events', key).aggregate).toBeGreaterThan(ticks)
    requests.clear()
    await tide.sync('events')
    expect(bodiesOf(tide, 'events')[0]?.modifiedSince).toBe(sinceOf(mark))
    expect(await differencesOf(tide, 'events')).toEqual([])
  })

  it.each(['budgets', 'enquiries'] as const)('of %s loses nothing either', { tags: 'long' }, async (report) => {
    const settings = { currencies: ['EUR'], defaults: { page_size: 20 }, limits: { load_rows_max: 60 } }
    await using tide = await aTide({ sandbox: { rows: 300, collections: false }, settings })
    expect((await failAfter(tide, report, 6)).code).toBe('SERVICE_UNAVAILABLE')
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
  })
})
