/** The world behind the service: the same for the same seed, and every change does what its name says. */
import { describe, expect, it } from 'vitest'
import { startSandbox, type World, WORLD_REPORTS } from '../../src/sandbox/server.ts'
import { SyncError } from '../../src/errors.ts'
import { ticksOf } from '../../src/sandbox/ticks.ts'
import { aCaller } from './caller.ts'
import { HandClock } from './handClock.ts'

const textOf = (world: World): string[] =>
  WORLD_REPORTS.flatMap((report) => world.keys(report).map((key) => world.rowText(report, key) ?? ''))

/** A world, before and after the same number of changes. */
const make = async (seed: number, day: string) => {
  const clock = new HandClock(day)
  await using sandbox = await startSandbox({ rows: 60, seed, clock })
  const before = textOf(sandbox.world)
  const changes = Array.from({ length: 80 }, () => sandbox.world.tick())
  return { before, changes, after: textOf(sandbox.world) }
}

describe('a seed', () => {
  it('has the same rows on any day, and after the same changes', async () => {
    const [one, later, other] = [await make(5, '2026-03-01'), await make(5, '2027-08-09'), await make(6, '2026-03-01')]
    expect(later.before).toEqual(one.before)
    expect(later.changes).toEqual(one.changes)
    expect(await make(5, '2026-03-01')).toEqual(one)
    expect(other.before).not.toEqual(one.before)
  })

  it('writes date-times in the configured style', async () => {
    const styles = { zulu: /Z"/, offset: /\+02:00"/, bare: /\d"/ } as const
    for (const [timeStyle, pattern] of Object.entries(styles)) {
      await using sandbox = await startSandbox({ rows: 20, timeStyle: timeStyle as keyof typeof styles })
      const stamps = textOf(sandbox.world).flatMap((text) => text.match(/"\d{4}-\d\d-\d\dT[^"]*"/g) ?? [])
      expect(stamps.every((stamp) => pattern.test(stamp))).toBe(true)
      expect(stamps.some((stamp) => /\.\d{7}/.test(stamp))).toBe(true)
    }
  })

  it('is a believable business: rooms that hold their guests, budgets in thousands, cancellations of cancelled events', async () => {
    await using sandbox = await startSandbox({ rows: 200, amounts: 'cents', changesPerSecond: 0 })
    const { world } = sandbox
    for (let change = 0; change < 200; change += 1) world.tick('events')
    type Event = Record<'attendees' | 'inPersonAttendees' | 'budgetAmount', number> & {
      eventId: number
      recordCreated: string
      status: string
      meetingRooms: { capacity: number }[]
      cancellationRecord: object | null
    }
    const events = world.keys('events').map((key) => world.row('events', key) as unknown as Event)
    for (const { attendees, inPersonAttendees, budgetAmount, meetingRooms } of events) {
      expect(inPersonAttendees).toBeLessThanOrEqual(attendees)
      for (const { capacity } of meetingRooms) expect(inPersonAttendees / capacity).toBeLessThanOrEqual(1)
      expect(budgetAmount).toBeGreaterThan(1_500)
    }
    const records = events.filter(({ cancellationRecord }) => cancellationRecord !== null)
    expect(new Set(records.map(({ status }) => status))).toEqual(new Set(['Cancelled']))
    const budgets = world.keys('budgets').map((key) => world.row('budgets', key))
    expect(budgets.every((budget) => Number(budget?.['totalAmount']) > 900)).toBe(true)
    expect(budgets.every((budget) => world.row('events', Number(budget?.['eventId'])) !== undefined)).toBe(true)
  })

  it('has events that are over by the clock of the sandbox, not by a fixed date', async () => {
    const clock = new HandClock('2024-05-05')
    await using sandbox = await startSandbox({ rows: 200, clock })
    const { world } = sandbox
    type Event = { readonly startDate: string; readonly status: string }
    const completed = () =>
      world.keys('events').flatMap((key) => {
        const { startDate, status } = world.row('events', key) as unknown as Event
        return status === 'Completed' ? [Date.parse(startDate)] : []
      })
    expect(Math.max(...completed())).toBeLessThan(Date.parse('2024-05-07'))
    const created = [1, 2, 3].map(() => world.insert('events').key)
    const statuses = () => created.map((key) => (world.row('events', key) as unknown as Event).status)
    expect(statuses()).not.toContain('Completed')
    clock.move(400 * 86_400_000)
    for (const key of created) while (world.edit('events', key).field !== 'status');
    for (const status of statuses()) expect(['Completed', 'Cancelled']).toContain(status)
  })

  it('never lets a row be older than its history or younger than the clock', async () => {
    const clock = new HandClock('2024-05-05')
    await using sandbox = await startSandbox({ rows: 200, clock })
    const { rows } = sandbox.world.tables.events
    expect(rows).toHaveLength(200)
    for (const { created, modified, aggregate } of rows) {
      expect(modified).toBeGreaterThanOrEqual(created)
      expect(aggregate).toBeGreaterThanOrEqual(modified)
      expect(aggregate).toBeLessThan(ticksOf(clock.now()))
    }
  })
})

const changed = (before: Record<string, unknown> | undefined, after: Record<string, unknown> | undefined): string[] =>
  Object.keys({ ...before, ...after }).filter(
    (field) => JSON.stringify(before?.[field]) !== JSON.stringify(after?.[field]),
  )

describe.each(WORLD_REPORTS)('in %s', (report) => {
  const STAMPS = ['recordModified', 'aggregateRecordModified', 'modifiedAt']
  /** An event has this collection while its status is Cancelled. */
  const FOLLOWS = 'cancellationRecord'

  it('an edit changes one field and the stamps', { tags: 'long' }, async () => {
    await using caller = await aCaller()
    for (const key of caller.world.liveKeys(report).slice(0, 20)) {
      const before = caller.world.row(report, key)
      const { field } = caller.world.edit(report, key)
      const fields = changed(before, caller.world.row(report, key))
      expect(fields.filter((each) => ![...STAMPS, FOLLOWS].includes(each))).toEqual([field])
      expect(await caller.keys(report, { modifiedSince: '2026-02-01' })).toContain(key)
    }
  })

  it('a silent edit changes a field and no stamp', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.liveKeys(report)
    const before = caller.world.row(report, key)
    const { field } = caller.world.silentEdit(report, key)
    expect(changed(before, caller.world.row(report, key))).toEqual([field])
    expect(await caller.keys(report, { modifiedSince: '2026-02-01' })).toEqual([])
  })

  it('children can be added, edited, removed and cleared', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.liveKeys(report)
    const kind = caller.world.tables[report].definition.collections.find(({ holds }) => holds === 'many')
    const field = kind?.field ?? ''
    const items = () => caller.world.row(report, key)?.[field] as Record<string, unknown>[]
    caller.world.clearChildren(report, key, field)
    const first = caller.world.clearChildren(report, key, field)
    const count = items().length
    caller.world.addChild(report, key, field)
    expect([first.field, items().length]).toEqual([field, count + 1])
    caller.world.editChild(report, key, field)
    expect(items().some((item) => item['revision'] === 1)).toBe(true)
    caller.world.removeChild(report, key, field)
    expect(items()).toHaveLength(count)
  })

  it('a late row is visible now with a stamp from then', async () => {
    await using caller = await aCaller({ clock: new HandClock() })
    const { key } = caller.world.lateCommit(report, 3_600_000)
    const window = { modifiedSince: '2026-03-01T10:59:00Z', modifiedUntil: '2026-03-01T11:01:00Z' }
    expect(await caller.keys(report, window)).toEqual([key])
  })

  it('a stamp can lie in the future', async () => {
    await using caller = await aCaller({ clock: new HandClock() })
    const [key = 0] = caller.world.liveKeys(report)
    caller.world.stampFuture(report, key, 86_400_000)
    expect(await caller.keys(report, { modifiedSince: '2026-03-02T11:00:00Z' })).toEqual([key])
  })

  it('raw text is sent in a row unchanged, malformed or not', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.liveKeys(report)
    const { fields, definition } = caller.world.tables[report]
    const [keyField = '', field = '', leftOut = ''] = fields
    const collection = definition.collections[0]?.field ?? ''
    caller.world.putRow(report, key, {
      [keyField]: '"seven"',
      [field]: '"\\ud800 \\u0000","again":1e999,"again":2',
      [leftOut]: '',
      [collection]: '"not a collection"',
      fresh: '12345678901234567890.123456789',
    })
    const text = caller.world.rowText(report, key) ?? ''
    expect(text).toContain(`"${keyField}":"seven"`)
    expect(text).toContain(`"${field}":"\\ud800 \\u0000","again":1e999,"again":2`)
    expect(text).not.toContain(`"${leftOut}":`)
    expect(text).toContain('"fresh":12345678901234567890.123456789')
    expect(text).toContain(`"${collection}":"not a collection"`)
  })

  it('ticks keep the report in order', async () => {
    await using caller = await aCaller({ rows: 40 })
    for (let i = 0; i < 300; i += 1) caller.world.tick(report)
    const { rows } = caller.world.tables[report]
    const order = rows.map(({ aggregate, number }) => [aggregate, number])
    expect(order).toEqual(order.toSorted(([a = 0, m = 0], [b = 0, n = 0]) => (a === b ? m - n : a - b)))
    expect(caller.world.liveKeys(report)).toEqual(rows.filter(({ deleted }) => !deleted).map(({ key }) => key))
  })
})

describe('the world', () => {
  it('refuses a key that it does not have', async () => {
    await using caller = await aCaller()
    expect(() => caller.world.edit('events', 1)).toThrow(SyncError)
  })

  it('puts a price that was put there in place of the converted one', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.liveKeys('budgets')
    caller.world.putRow('budgets', key, { totalAmount: '"free"' })
    expect(caller.world.row('budgets', key, { currency: 'USD' })).toMatchObject({
      totalAmount: 'free',
      currencyCode: 'USD',
    })
  })

  it('changes by itself at the configured rate, until it is closed', async () => {
    const clock = new HandClock()
    const waiting: (() => void)[] = []
    clock.after = (...[, action]: [number?, (() => void)?]) => {
      if (action !== undefined) waiting.push(action)
      return () => waiting.splice(0)
    }
    await using caller = await aCaller({ clock, changesPerSecond: 20 })
    const before = textOf(caller.world)
    clock.move(500)
    waiting.shift()?.()
    expect(textOf(caller.world)).not.toEqual(before)
    caller.sandbox.setChangesPerSecond(0)
    expect(waiting).toEqual([])
  })
})
