/**
 * Windows of modification time (spec §2, §4): inclusive bounds, the two stamps of events, deleted and never-edited
 * rows.
 */
import { describe, expect, it } from 'vitest'
import { DEFINITIONS } from '../../src/sandbox/reports/index.ts'
import { formatTicks } from '../../src/sandbox/ticks.ts'
import { WORLD_REPORTS, type WorldReport } from '../../src/sandbox/server.ts'
import { aCaller, sorted, type Caller } from './caller.ts'
import { HandClock } from './handClock.ts'

const OPTIONAL = WORLD_REPORTS.filter((report) => DEFINITIONS[report].required?.includes('modifiedSince') !== true)
const FAR = '2099-01-01T00:00:00Z'

/** An edit at a known instant of a clock that stands still; the stamp lies within its microsecond. */
async function edited(
  report: WorldReport,
): Promise<{ caller: Caller; key: number; at: string; next: string; before: string }> {
  const caller = await aCaller({ clock: new HandClock('2026-03-01T12:00:00.500Z') })
  const [key = 0] = caller.world.liveKeys(report)
  caller.world.edit(report, key)
  return {
    caller,
    key,
    at: '2026-03-01T12:00:00.5000000Z',
    next: '2026-03-01T12:00:00.5000009Z',
    before: '2026-03-01T12:00:00.4999999Z',
  }
}

describe.each(WORLD_REPORTS)('%s', (report) => {
  it('returns a row that was edited inside the window, and only there', async () => {
    const { caller, key, at, next, before } = await edited(report)
    await using _ = caller
    expect(await caller.keys(report, { modifiedSince: at, modifiedUntil: next })).toEqual([key])
    expect(await caller.keys(report, { modifiedSince: '2026-02-01', modifiedUntil: before })).not.toContain(key)
    expect(await caller.keys(report, { modifiedSince: '2026-03-01T12:00:00.500001Z' })).not.toContain(key)
  })

  it('includes both bounds to the last digit', async () => {
    await using caller = await aCaller({ clock: new HandClock() })
    const [key = 0] = caller.world.liveKeys(report)
    caller.world.edit(report, key)
    const stamp = caller.world.stampsOf(report, key).modified
    const exact = { modifiedSince: formatTicks(stamp), modifiedUntil: formatTicks(stamp) }
    expect(await caller.keys(report, exact)).toEqual([key])
    expect(
      await caller.keys(report, {
        ...exact,
        modifiedSince: formatTicks(stamp - 1),
        modifiedUntil: formatTicks(stamp - 1),
      }),
    ).toEqual([])
    expect(
      await caller.keys(report, {
        ...exact,
        modifiedSince: formatTicks(stamp + 1),
        modifiedUntil: formatTicks(stamp + 1),
      }),
    ).toEqual([])
  })

  it('cuts any range into windows that return every row of it', async () => {
    await using caller = await aCaller()
    const bounds = ['2000-01-01', '2023-06-01', '2024-01-01', '2024-09-15', '2025-12-02T00:00:00Z', FAR]
    const found = new Set<number>()
    for (let i = 1; i < bounds.length; i += 1) {
      for (const key of await caller.keys(report, { modifiedSince: bounds[i - 1], modifiedUntil: bounds[i] }))
        found.add(key)
    }
    expect(sorted([...found])).toEqual(
      sorted(await caller.keys(report, { modifiedSince: '2000-01-01', modifiedUntil: FAR })),
    )
  })
})

describe.each(OPTIONAL)('%s', (report) => {
  it('has rows that were never edited and match no modification filter', async () => {
    await using caller = await aCaller()
    const all = await caller.keys(report)
    const since = await caller.keys(report, { modifiedSince: '0001-01-01' })
    const until = await caller.keys(report, { modifiedUntil: FAR })
    expect(since.length).toBeLessThan(all.length * 0.85)
    expect(since.length).toBeGreaterThan(all.length * 0.5)
    expect(sorted(until)).toEqual(sorted(since))
    expect(await caller.keys(report, { createdSince: '2000-01-01' })).toHaveLength(all.length)
  })

  it('no longer returns a deleted row, and returns it again once it is back', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.liveKeys(report)
    caller.world.softDelete(report, key)
    expect(await caller.keys(report)).not.toContain(key)
    expect(caller.world.row(report, key)).toBeUndefined()
    caller.world.undelete(report, key)
    expect(await caller.keys(report)).toContain(key)
  })
})

describe.each(['enquiries', 'automated_bookings', 'office_reservations', 'merf_submissions'] as const)(
  '%s',
  (report) => {
    it('carries no modification time in its rows', async () => {
      await using caller = await aCaller()
      const [row] = await caller.rows(report)
      expect(Object.keys(row ?? {}).filter((field) => /modif|updated|changed/i.test(field))).toEqual([])
    })
  },
)

describe.each(['events', 'budgets'] as const)('%s', (report) => {
  it('hides a soft-deleted row unless includeDeleted is true', async () => {
    await using caller = await aCaller({ clock: new HandClock() })
    const [key = 0] = caller.world.liveKeys(report)
    caller.world.softDelete(report, key)
    const window = { modifiedSince: '2026-03-01' }
    expect(await caller.keys(report, window)).not.toContain(key)
    expect(await caller.keys(report, { ...window, includeDeleted: false })).not.toContain(key)
    expect(await caller.keys(report, { ...window, includeDeleted: true })).toContain(key)
    caller.world.undelete(report, key)
    expect(await caller.keys(report, window)).toContain(key)
  })

  it('has deleted rows from the start', async () => {
    await using caller = await aCaller({ rows: 300 })
    const shown = await caller.keys(report)
    const all = await caller.keys(report, { includeDeleted: true })
    expect(all).toHaveLength(300)
    expect(shown.length).toBeLessThan(300)
    expect(sorted(shown)).toEqual(sorted(caller.world.liveKeys(report)))
  })
})

describe('events', () => {
  it('sends isDeleted for exactly the deleted rows, and budgets have no such field', async () => {
    await using caller = await aCaller({ rows: 300 })
    const rows = await caller.rows('events', { includeDeleted: true })
    const live = new Set(caller.world.liveKeys('events'))
    expect(rows.every((row) => row['isDeleted'] === !live.has(Number(row['eventId'])))).toBe(true)
    const budgets = await caller.rows('budgets', { includeDeleted: true })
    expect(budgets.some((row) => 'isDeleted' in row)).toBe(false)
  })

  it('matches a window by either stamp', async () => {
    const clock = new HandClock()
    await using caller = await aCaller({ clock })
    const [key = 0] = caller.world.liveKeys('events')
    caller.world.edit('events', key)
    clock.move(3_600_000)
    caller.world.editChild('events', key)
    const own = { modifiedSince: '2026-03-01T12:00:00Z', modifiedUntil: '2026-03-01T12:30:00Z' }
    const childs = { modifiedSince: '2026-03-01T12:30:00Z', modifiedUntil: '2026-03-01T13:30:00Z' }
    const between = { modifiedSince: '2026-03-01T12:30:00Z', modifiedUntil: '2026-03-01T12:45:00Z' }
    expect(await caller.keys('events', own)).toEqual([key])
    expect(await caller.keys('events', childs)).toEqual([key])
    expect(await caller.keys('events', between)).toEqual([])
  })

  it('moves only the aggregate stamp when a child record changes', async () => {
    await using caller = await aCaller({ clock: new HandClock() })
    const [key = 0] = caller.world.liveKeys('events')
    const before = caller.world.row('events', key)
    caller.world.addChild('events', key, 'meetingRooms')
    const after = caller.world.row('events', key)
    expect(after?.['recordModified']).toBe(before?.['recordModified'])
    expect(after?.['aggregateRecordModified']).not.toBe(before?.['aggregateRecordModified'])
    expect(after?.['meetingRooms']).toHaveLength(((before?.['meetingRooms'] ?? []) as unknown[]).length + 1)
  })
})
