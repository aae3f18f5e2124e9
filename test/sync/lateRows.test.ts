/**
 * What rows' stamps tell (product contract §2 and §5.5): rows that are shown late are counted and measured, rows that
 * are stamped in the future, or not at all, are found and never move a mark.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import { markOf } from '../support/held.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'

const MINUTE_MS = 60_000
const EUR = { settings: { currencies: ['EUR'] }, sandbox: { rows: 12 } }
const STAMPED = ['events', 'budgets'] as const
const scopeOf = (report: ReportName) => (report === 'budgets' ? 'EUR' : '')

interface Told {
  readonly late: number | null
  readonly ms: number | null
  readonly future: number | null
  readonly unstamped: number | null
}

async function toldOf(tide: Tide, report: ReportName): Promise<Told | undefined> {
  const [row] = await tide.warehouse.rows<Told>(
    `SELECT late_rows AS late, epoch_ms(largest_lateness) AS ms, future_rows AS future, unstamped_rows AS unstamped
     FROM tidemark.freshness WHERE report = '${report}'`,
  )
  return row
}

/** Runs once and gives the run's own count of late rows, and the lateness in whole minutes. */
async function lateOf(tide: Tide, report: ReportName): Promise<[number | undefined, number]> {
  const [outcome] = await tide.sync(report)
  return [outcome?.figures.late, Math.floor((outcome?.figures.latenessMs ?? 0) / MINUTE_MS)]
}

describe.each(STAMPED)('late rows of %s', (report) => {
  it('are counted and measured by the windows after the first, once each', async () => {
    await using tide = await aTide(EUR)
    const { world } = tide.sandbox
    world.lateCommit(report, 3 * MINUTE_MS)
    expect(await lateOf(tide, report)).toEqual([0, 0])
    world.lateCommit(report, 2 * MINUTE_MS + 40_000)
    world.lateCommit(report, 7 * MINUTE_MS + 40_000)
    world.insert(report)
    world.edit(report, world.liveKeys(report)[0] as number)
    const [late, minutes] = await lateOf(tide, report)
    expect(late).toBe(2)
    // A lower bound: the clock of the run before is earlier than the commit, on a slow machine by many seconds.
    expect(minutes).toBe(7)
    expect(await lateOf(tide, report)).toEqual([0, 0])
    expect(await toldOf(tide, report)).toMatchObject({ late: 2 })
    expect((await toldOf(tide, report))?.ms).toBeGreaterThanOrEqual(7 * MINUTE_MS)
    const loads = await tide.warehouse.rows<{ late: number | null }>(
      `SELECT late FROM tidemark.loads WHERE report = '${report}' ORDER BY load_id`,
    )
    expect(loads[0]?.late).toBeNull()
    expect(loads.reduce((sum, { late }) => sum + (late ?? 0), 0)).toBe(2)
  })

  it('are none where a row that is held changes without a new stamp, nor where old rows are read again', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide(EUR)
    await tide.sync(report)
    const { world } = tide.sandbox
    const key = world.liveKeys(report)[0] as number
    world.edit(report, key)
    await tide.sync(report)
    world.silentEdit(report, key)
    expect(await lateOf(tide, report)).toEqual([0, 0])
    const reports = { ...tide.config.reports, [report]: { ...tide.config.reports[report], expand: [] } }
    const context = { ...tide.context, settings: { ...tide.context.settings, reports } }
    await using other = { ...tide, context, [Symbol.asyncDispose]: () => Promise.resolve() }
    await reconcileReport(other.context, report, { runId: randomUUID(), allowMassDelete: false })
    await tide.sync(report)
    expect(await toldOf(tide, report)).toMatchObject({ late: 0, ms: null })
  })
})

it('late rows of reports without a stamp are only those that a comparison of counts finds', async () => {
  await using tide = await aTide(EUR)
  await tide.sync('enquiries')
  tide.sandbox.world.lateCommit('enquiries', 2 * MINUTE_MS)
  expect(await lateOf(tide, 'enquiries')).toEqual([0, 0])
  expect(await toldOf(tide, 'enquiries')).toEqual({ late: 0, ms: null, future: null, unstamped: null })
  expect(await tide.warehouse.rows(`SELECT DISTINCT late FROM tidemark.loads`)).toEqual([{ late: null }])
})

describe.each(STAMPED)('a row of %s', (report) => {
  const options = report === 'events' ? {} : { tags: 'long' }
  const stamps = report === 'events' ? ['aggregateRecordModified', 'recordModified', 'modifiedAt'] : ['modifiedAt']

  it('that carries no stamp is found, told, and moves no mark', { tags: 'long' }, async () => {
    await using tide = await aTide(EUR)
    await tide.sync(report)
    const { world } = tide.sandbox
    const key = world.liveKeys(report)[0] as number
    world.putRow(report, key, Object.fromEntries(stamps.map((stamp) => [stamp, 'null'])))
    await tide.sync(report)
    expect(await toldOf(tide, report)).toMatchObject({ unstamped: 1, future: 0, late: 0 })
    expect((await markOf(tide, report, scopeOf(report))) ?? Infinity).toBeLessThan(systemClock.now())
  })

  it('that carries a stamp in the future is found, told, moves no mark, and gives way to the next version', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide(EUR)
    await tide.sync(report)
    const { world } = tide.sandbox
    const key = world.liveKeys(report)[0] as number
    world.putRow(report, key, Object.fromEntries(stamps.map((stamp) => [stamp, '"2199-01-01T00:00:00Z"'])))
    await tide.sync(report)
    expect(await toldOf(tide, report)).toMatchObject({ future: 1, late: 0 })
    expect((await markOf(tide, report, scopeOf(report))) ?? Infinity).toBeLessThan(systemClock.now())
    const now = JSON.stringify(new Date(systemClock.now() / 1_000 + 1).toISOString())
    tide.clock.pass(1_050)
    world.putRow(report, key, Object.fromEntries(stamps.map((stamp) => [stamp, now])))
    await tide.sync(report)
    expect(await toldOf(tide, report)).toMatchObject({ future: 0 })
  })

  it(
    'that the service shows only in the future is found by a reconcile, which never takes it for deleted',
    options,
    async () => {
      await using tide = await aTide(EUR)
      await tide.sync(report)
      const { world } = tide.sandbox
      const key = world.liveKeys(report)[0] as number
      world.stampFuture(report, key, 24 * 60 * MINUTE_MS)
      for (const _ of [1, 2, 3]) {
        tide.clock.pass(1_050)
        await reconcileReport(tide.context, report, { runId: randomUUID(), allowMassDelete: false })
      }
      expect(
        await tide.warehouse.rows(
          `SELECT count(*) AS n FROM ${report} WHERE is_deleted AND _delete_evidence = 'absence'`,
        ),
      ).toEqual([{ n: 0 }])
      expect(await toldOf(tide, report)).toMatchObject({ future: 1 })
    },
  )
})
