/**
 * Newest version wins in any load order; what is equal is left alone; what a row doesn't carry stays (contract §4,
 * §5.2).
 */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Declaration } from '../../schema/index.ts'
import { budgets } from '../../schema/reports/budgets.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { events } from '../../schema/reports/events.ts'
import { formatInstant, type Instant, plusMs } from '../../src/instant.ts'
import {
  at,
  aWarehouse,
  type GivenPage,
  loadPages,
  loadRows,
  NOON,
  type OpenWarehouse,
  texts,
  withOdd,
} from '../support/warehouse.ts'

let opened: OpenWarehouse
beforeAll(async () => {
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

let nextId = 1
const anId = (): number => nextId++
const minutes = (count: number): Instant => plusMs(NOON, count * 60_000)
const seconds = (count: number): Instant => plusMs(NOON, count * 1_000)

interface Version {
  readonly key: number
  /** Its stamp, in seconds. */
  readonly modified: number
  readonly observed: number
}

/** How versions of a key become rows of a report, and what of the table tells versions apart. */
interface Kind {
  readonly report: Declaration
  readonly keyColumn: string
  readonly row: (id: number, version: Version) => Record<string, unknown>
  readonly column: string
}

const KINDS: readonly Kind[] = [
  {
    report: events,
    keyColumn: 'event_id',
    column: 'name',
    row: (id, { modified, observed }) => ({
      eventId: id,
      name: `as of ${modified} at ${observed}`,
      aggregateRecordModified: formatInstant(seconds(modified)),
      meetingRooms: [{ id: modified % 3, seats: modified }],
    }),
  },
  {
    report: budgets,
    keyColumn: 'budget_id',
    column: 'budget_name',
    row: (id, { modified, observed }) => ({
      budgetId: id,
      budgetName: `as of ${modified} at ${observed}`,
      modifiedAt: formatInstant(seconds(modified)),
      totalAmount: modified / 8,
    }),
  },
  {
    report: enquiries,
    keyColumn: 'enquiry_id',
    column: 'booker_email',
    // Without a stamp of its own a row is only as new as its observation.
    row: (id, { observed }) => ({
      enquiryId: id,
      bookerEmail: `as of ${observed}`,
      status: observed,
      more: { observed },
    }),
  },
]

/**
 * Versions of a few keys: a key is never observed twice at the same time. Those of one block are close together, those of
 * two blocks apart by more than the settle time and the longest answer. Stamps go back, but never lie in the future.
 */
const someVersions = fc
  .uniqueArray(
    fc
      .record({ key: fc.nat(3), block: fc.nat(3), second: fc.nat(20), age: fc.nat(300) })
      .map(({ key, block, second, age }) => ({
        key,
        modified: block * BLOCK_S + second - age,
        observed: block * BLOCK_S + second,
      })),
    { minLength: 1, maxLength: 12, selector: ({ key, observed }) => `${key} ${observed}` },
  )
  .chain((versions) =>
    fc.tuple(
      fc.constant(versions),
      fc.shuffledSubarray(versions, { minLength: versions.length }),
      fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
    ),
  )

const BLOCK_S = 240
const blockOf = ({ observed }: Version): number => Math.floor(observed / BLOCK_S)
const isNewer = (kind: Kind, a: Version, b: Version): boolean =>
  kind.report.newerBy.length > 0 && blockOf(a) === blockOf(b) && a.modified !== b.modified
    ? a.modified > b.modified
    : a.observed > b.observed

function newestOf(kind: Kind, versions: readonly Version[]): Map<number, Version> {
  const newest = new Map<number, Version>()
  for (const version of versions) {
    const known = newest.get(version.key)
    if (known === undefined || isNewer(kind, version, known)) newest.set(version.key, version)
  }
  return newest
}

/** Numbers for the keys of one story. */
const KEYS = 4
/** Stories with keys of their own that are loaded together, because a load takes as long with one row. */
const STORIES_A_RUN = 8

describe.each(KINDS)('$report.name', (kind) => {
  it('end at the newest version of each key, whatever order and loads the versions come in', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(someVersions, { minLength: 1, maxLength: STORIES_A_RUN }), async (stories) => {
        const first = nextId
        nextId += KEYS * stories.length
        const loads: GivenPage[][] = []
        for (const [n, [, order, cuts]] of stories.entries()) {
          for (let from = 0, load = 0; from < order.length; load += 1) {
            const size = 1 + (cuts[from] ?? 0)
            const pages = order.slice(from, from + size).map((version) => ({
              rows: [kind.row(first + n * KEYS + version.key, version)],
              observedAt: seconds(version.observed),
            }))
            loads[load] = [...(loads[load] ?? []), ...pages]
            from += size
          }
        }
        for (const pages of loads) await loadPages(opened, kind.report, { pages })
        const expected = stories.flatMap(([versions], n) =>
          [...newestOf(kind, versions)].map(([key, version]) => [
            first + n * KEYS + key,
            kind.row(0, version)[nameOf(kind.column)],
          ]),
        )
        const rows = await texts(opened, `main.${kind.report.name}`, {
          columns: [kind.keyColumn, kind.column],
          where: `"${kind.keyColumn}" BETWEEN ${first} AND ${nextId - 1}`,
        })
        const found = rows.map((row) => [Number(row[kind.keyColumn]), row[kind.column]])
        expect(new Map(found as [number, unknown][])).toEqual(new Map(expected as [number, unknown][]))
        expect(found).toHaveLength(expected.length)
      }),
      { numRuns: 6, endOnFailure: true },
    )
  })

  it('change nothing when the same rows come again, later and beside others', async () => {
    const id = anId()
    const row = kind.row(id, { key: 0, modified: 1, observed: 1 })
    await loadRows(opened, kind.report, [row], { observedAt: minutes(1) })
    const where = `"${kind.keyColumn}" = ${id}`
    const before = await texts(opened, `main.${kind.report.name}`, { where })
    const odd = {
      ...kind.row(anId(), { key: 0, modified: 2, observed: 2 }),
      odd: 'twice',
    }
    const again = await loadRows(opened, kind.report, withOdd([odd, row]), { observedAt: minutes(9) })
    expect(again).toMatchObject({ inserted: 0, updated: 0, unchanged: 1, rejected: 1, childrenWritten: 0 })
    expect(await texts(opened, `main.${kind.report.name}`, { where })).toEqual(
      before.map((each) => expect.objectContaining(each)),
    )
  })
})

const nameOf = (column: string): string => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

describe('an equal row', () => {
  it('is not written again when another row of the load brings the same field in another kind', async () => {
    const [one, other] = [anId(), anId()]
    const row = { enquiryId: one, extra: 'text', approver: [{ id: 1, v: 1 }], list: [1, 'a', { b: 2 }], rate: 5 }
    await loadRows(opened, enquiries, [row])
    const load = await loadRows(opened, enquiries, [
      row,
      { enquiryId: other, extra: { nested: true }, approver: { id: 2 }, list: 'text', rate: [1] },
    ])
    expect(load).toMatchObject({ inserted: 1, updated: 0, unchanged: 1 })
    const [held] = await texts(opened, 'main.enquiries__approver', {
      where: `enquiry_id = ${one}`,
      columns: ['_payload'],
    })
    expect(held).toEqual({ _payload: '{"id":1,"v":1}' })
  })

  it('is not written again when it holds a small number, and keeps it as it was sent, however it is read', async () => {
    const [one, other, third] = [anId(), anId(), anId()]
    const row = `{"enquiryId":${one},"share":0.00005,"none":0.00000}`
    await loadRows(opened, enquiries, `[${row}]`)
    const nested = await loadRows(opened, enquiries, `[${row},{"enquiryId":${other},"share":[1],"none":[1]}]`)
    expect(nested).toMatchObject({ inserted: 1, updated: 0, unchanged: 1 })
    await loadRows(opened, enquiries, `[{"enquiryId":${third},"share":-0.00005},{"enquiryId":${other},"share":"half"}]`)
    const where = `enquiry_id = ${third}`
    expect(await texts(opened, 'main.enquiries', { where, columns: ['share'] })).toEqual([{ share: '-0.000050000' }])
  })

  it('is different from one that lacks a field, or has null instead', async () => {
    const id = anId()
    const loads = []
    for (const [n, row] of [{ a: 1 }, {}, { a: null }, { a: 1 }, { a: '1' }, { a: 1, b: null }].entries()) {
      loads.push(await loadRows(opened, enquiries, [{ enquiryId: id, ...row }], { observedAt: minutes(n) }))
    }
    // 1 and "1" fill the same column with the same text once it holds texts.
    expect(loads.map(({ updated, inserted }) => inserted + updated)).toEqual([1, 1, 1, 1, expect.any(Number), 1])
  })
})

const BOUNDS = { askedAt: minutes(9), observedAt: minutes(10) }
const heldName = (id: number) => texts(opened, 'main.events', { columns: ['name'], where: `event_id = ${id}` })
const pageOfEvent = (id: number, name: string, stamp: Instant, times: Pick<GivenPage, 'askedAt' | 'observedAt'>) => ({
  ...times,
  rows: [{ eventId: id, name, aggregateRecordModified: formatInstant(stamp), meetingRooms: [{ id: 1, name }] }],
})

describe('a stamp that goes back', () => {
  it.each(['changes', 'reread', 'backfill', 'reconcile'] as const)(
    'wins where it was asked for later than the held version was observed plus settle, in a load of kind %s',
    async (kind) => {
      const id = anId()
      await loadPages(opened, events, { pages: [pageOfEvent(id, 'held', minutes(8), BOUNDS)] })
      const reconcile = { reconcileId: 'none', reached: undefined }
      const given = kind === 'reconcile' ? ({ kind, reconcile } as const) : { kind }
      const soon = pageOfEvent(id, 'within settle', minutes(1), {
        askedAt: plusMs(minutes(10), 31_000),
        observedAt: minutes(20),
      })
      await loadPages(opened, events, { pages: [soon], given })
      expect(await heldName(id)).toEqual([{ name: 'held' }])
      const after = pageOfEvent(id, 'restored', minutes(1), {
        askedAt: plusMs(minutes(10), 31_001),
        observedAt: minutes(20),
      })
      expect(await loadPages(opened, events, { pages: [after], given })).toMatchObject({
        updated: 1,
        childrenWritten: 1,
      })
      expect(await heldName(id)).toEqual([{ name: 'restored' }])
      const rooms = await texts(opened, 'main.events__meeting_rooms', { columns: ['name'], where: `event_id = ${id}` })
      expect(rooms).toEqual([{ name: 'restored' }])
    },
  )

  it.each(['changes', 'backfill'] as const)(
    'is not replaced by what was observed before it was asked for, whatever its stamp, in a load of kind %s',
    async (kind) => {
      const id = anId()
      await loadPages(opened, events, { pages: [pageOfEvent(id, 'restored', minutes(1), BOUNDS)] })
      const stale = pageOfEvent(id, 'stale', minutes(8), { observedAt: plusMs(minutes(9), -31_001) })
      await loadPages(opened, events, { pages: [stale], given: { kind } })
      expect(await heldName(id)).toEqual([{ name: 'restored' }])
      // Asked for at nine: it may show what was before half past eight, so the stamp decides.
      const close = pageOfEvent(id, 'within settle', minutes(8), { observedAt: plusMs(minutes(9), -31_000) })
      await loadPages(opened, events, { pages: [close], given: { kind } })
      expect(await heldName(id)).toEqual([{ name: 'within settle' }])
    },
  )

  it('wins over the rows of its own load that were observed long before it was asked for', async () => {
    const id = anId()
    const pages = [
      pageOfEvent(id, 'stale', minutes(1), { observedAt: minutes(1) }),
      pageOfEvent(id, 'back', minutes(0), BOUNDS),
    ]
    for (const each of [pages, pages.toReversed()]) await loadPages(opened, events, { pages: each })
    expect(await heldName(id)).toEqual([{ name: 'back' }])
  })

  it('does not win where settle is longer', async () => {
    const id = anId()
    await loadPages(opened, events, { pages: [pageOfEvent(id, 'held', minutes(0), { observedAt: minutes(0) })] })
    const rules = { contract: 'evolve', excludePayload: false, settleMs: 600_000 } as const
    const later = pageOfEvent(id, 'back', minutes(-1), { observedAt: minutes(10) })
    await loadPages(opened, events, { pages: [later], given: { rules } })
    expect(await heldName(id)).toEqual([{ name: 'held' }])
  })

  it("gives way to a change that came after the service's clock was set back", async () => {
    const id = anId()
    await loadPages(opened, events, { pages: [pageOfEvent(id, 'ahead', minutes(60), { observedAt: minutes(60) })] })
    const now = pageOfEvent(id, 'set right', minutes(5), { observedAt: minutes(5) })
    await loadPages(opened, events, { pages: [now], given: { serviceNow: minutes(5) } })
    expect(await heldName(id)).toEqual([{ name: 'set right' }])
  })
})

const named = (id: number, name: string, stamp: string) => ({ eventId: id, name, aggregateRecordModified: stamp })

describe('a stamp later than its observation', () => {
  it('counts as the time of observation, so that a later version replaces the row', async () => {
    const id = anId()
    const wrong = { eventId: id, name: 'wrong', aggregateRecordModified: '2999-01-01T00:00:00Z' }
    const right = { eventId: id, name: 'right', aggregateRecordModified: formatInstant(plusMs(NOON, 500)) }
    await loadRows(opened, events, [wrong], { observedAt: NOON })
    await loadRows(opened, events, [right], { observedAt: plusMs(NOON, 700) })
    expect(await texts(opened, 'main.events', { columns: ['name'], where: `event_id = ${id}` })).toEqual([
      { name: 'right' },
    ])
    await loadRows(opened, events, [{ ...wrong, name: 'older' }], { observedAt: minutes(-5) })
    expect(await texts(opened, 'main.events', { columns: ['name'], where: `event_id = ${id}` })).toEqual([
      { name: 'right' },
    ])
  })

  it.each([
    ['gives way to a change that is shown later with a stamp from before', ['wrong', 'right'], 'right'],
    ['takes the place of what was shown before it, however new that looks', ['newer', 'wrong'], 'wrong'],
    ['says nothing of which is newer of those that are shown after it', ['wrong', 'newer', 'right'], 'newer'],
    ['counts again where it comes last', ['wrong', 'newer', 'right', 'wrong'], 'wrong'],
  ] as const)('%s, in one load as in several', { tags: 'long' }, async (_, order, left) => {
    const stamps = {
      wrong: formatInstant(minutes(60)),
      right: formatInstant(minutes(-9)),
      newer: formatInstant(minutes(-1)),
    }
    const [together, apart] = [anId(), anId()]
    const pageOf = (id: number, name: keyof typeof stamps, n: number) => ({
      observedAt: plusMs(NOON, n * 1_000),
      rows: [named(id, name, stamps[name])],
    })
    await loadPages(opened, events, { pages: order.map((name, n) => pageOf(together, name, n)) })
    for (const [n, name] of order.entries()) await loadPages(opened, events, { pages: [pageOf(apart, name, n)] })
    for (const id of [together, apart]) {
      const held = await texts(opened, 'main.events', { columns: ['name'], where: `event_id = ${id}` })
      expect(held).toEqual([{ name: left }])
    }
  })

  it('counts as itself within the second that the Date header leaves open', async () => {
    const id = anId()
    const row = (name: string, stamp: Instant) => ({ eventId: id, name, aggregateRecordModified: formatInstant(stamp) })
    await loadRows(opened, events, [row('newer', plusMs(NOON, 900))], { observedAt: NOON })
    await loadRows(opened, events, [row('older', plusMs(NOON, 100))], { observedAt: NOON })
    expect(await texts(opened, 'main.events', { columns: ['name'], where: `event_id = ${id}` })).toEqual([
      { name: 'newer' },
    ])
  })
})

describe('a field', () => {
  const full = {
    status: 3,
    bookerEmail: 'a@b',
    note: 'text',
    list: [1, { deep: '1' }],
    taxes: [{ id: 1 }],
  }

  it('that a row does not carry keeps its value; null is null', async () => {
    const id = anId()
    const columns = ['status', 'booker_email', 'note', '_extra']
    const where = `enquiry_id = ${id}`
    await loadRows(opened, enquiries, [{ enquiryId: id, ...full }])
    await loadRows(
      opened,
      enquiries,
      [
        { enquiryId: id, bookerEmail: null },
        { enquiryId: anId(), ...full },
      ],
      {
        observedAt: minutes(1),
      },
    )
    const kept = { status: '3', booker_email: null, note: 'text', _extra: '{"list":[1,{"deep":"1"}]}' }
    expect(await texts(opened, 'main.enquiries', { columns, where })).toEqual([kept])
    expect(await texts(opened, 'main.enquiries__taxes', { columns: ['is_deleted'], where })).toEqual([
      { is_deleted: 'false' },
    ])
    await loadRows(opened, enquiries, [{ enquiryId: id, list: null, other: { a: 1 }, note: null }], {
      observedAt: minutes(2),
    })
    expect(await texts(opened, 'main.enquiries', { columns, where })).toEqual([
      { ...kept, note: null, _extra: '{"other":{"a":1}}' },
    ])
  })

  it('kept in _extra keeps all digits of its numbers while other fields change', async () => {
    const id = anId()
    const odd = String.raw`{"a":123456789012345678901.25,"b\"1e5":"x 1e9 \" 12.50","c":[1.0e5,true,null,-0.250]}`
    await loadRows(opened, enquiries, `[{"enquiryId":${id},"odd":${odd},"more":[1]}]`)
    await loadRows(opened, enquiries, `[{"enquiryId":${id},"more":[2],"status":1}]`, { observedAt: minutes(1) })
    const [row] = await texts(opened, 'main.enquiries', { columns: ['_extra'], where: `enquiry_id = ${id}` })
    expect(row?.['_extra']).toContain('123456789012345678901.25')
    expect(JSON.parse(row?.['_extra'] ?? '')).toEqual({ more: [2], odd: JSON.parse(odd) as unknown })
  })
})

describe('rows of one key in one load', () => {
  const [full, summary, bare] = [
    { name: 'Fair', town: 'Bonn', recordModified: '2026-03-01T11:00:00Z', meetingRooms: [{ id: 1 }], tags: ['a'] },
    { eventName: 'Fair 2', modifiedAt: '2026-03-01T11:05:00Z', totalChanges: 2 },
    { name: 'Fair 3', town: 'Berlin', recordModified: '2026-03-01T11:04:00Z' },
  ]
  it.each([
    ['a summary behind a full row', [full, summary]],
    ['a summary before a full row', [summary, full]],
    ['a row without its collections behind one with them', [full, bare]],
    ['a summary behind both', [full, bare, summary]],
    ['both behind a summary, twice', [summary, full, bare, bare, full, summary]],
  ])('end as if each had come in a load of its own, the older first: %s', { tags: 'long' }, async (_, rows) => {
    const [together, apart] = [anId(), anId()]
    const pagesOf = (eventId: number) =>
      rows.map((row, n) => ({ rows: [{ eventId, ...row }], observedAt: seconds(n + 1) }))
    await loadPages(opened, events, { pages: pagesOf(together) })
    const stampOf = ({ rows: [row] }: ReturnType<typeof pagesOf>[number]) =>
      Object.values(row ?? {}).find((value) => typeof value === 'string' && value.startsWith('2026')) as string
    const inTime = pagesOf(apart).toSorted((a, b) => (stampOf(a) < stampOf(b) ? -1 : 1))
    for (const page of inTime) await loadPages(opened, events, { pages: [page] })
    const columns = ['name', 'town', 'total_changes', 'record_modified', 'aggregate_record_modified', '_extra']
    const held = (table: string, id: number) =>
      texts(opened, `main.${table}`, {
        where: `event_id = ${id}`,
        columns: table === 'events' ? columns : ['id', 'is_deleted'],
      })
    for (const table of ['events', 'events__meeting_rooms'])
      expect(await held(table, together), table).toEqual(await held(table, apart))
    expect(await held('events__meeting_rooms', together)).toEqual([{ id: '1', is_deleted: 'false' }])
  })
})

describe('a summary-shape event', () => {
  it('changes only the summary columns, and a full row after it restores the rest', async () => {
    const id = anId()
    const where = `event_id = ${id}`
    const columns = [
      'name',
      'town',
      'attendees',
      'is_deleted',
      'total_changes',
      'record_modified',
      'aggregate_record_modified',
    ]
    const full = {
      eventId: id,
      name: 'Fair',
      town: 'Bath',
      attendees: 20,
      isDeleted: true,
      recordModified: '2026-03-01T10:00:00Z',
      aggregateRecordModified: '2026-03-01T11:00:00Z',
      permissions: [{ id: 1 }],
    }
    await loadRows(opened, events, [full], { observedAt: minutes(1) })
    const summary = { eventId: id, eventName: 'Fair 2', modifiedAt: '2026-03-01T12:02:00Z', totalChanges: 4 }
    await loadRows(opened, events, [summary], { observedAt: minutes(3) })
    const stamp = '2026-03-01 12:02:00+00'
    expect(await texts(opened, 'main.events', { columns, where })).toEqual([
      {
        name: 'Fair 2',
        town: 'Bath',
        attendees: '20',
        is_deleted: 'true',
        total_changes: '4',
        record_modified: stamp,
        aggregate_record_modified: stamp,
      },
    ])
    expect(await texts(opened, 'main.events__permissions', { columns: ['is_deleted'], where })).toEqual([
      { is_deleted: 'false' },
    ])
    const later = { ...full, name: 'Fair 3', aggregateRecordModified: '2026-03-01T12:04:00Z', isDeleted: false }
    await loadRows(opened, events, [later], { observedAt: minutes(5) })
    expect(await texts(opened, 'main.events', { columns, where })).toMatchObject([
      { name: 'Fair 3', record_modified: '2026-03-01 10:00:00+00', is_deleted: 'false', total_changes: '4' },
    ])
  })
})

describe('a time', () => {
  it.each([
    ['2026-03-01T10:00:00Z', '2026-03-01 10:00:00+00'],
    ['2026-03-01T10:00:00', '2026-03-01 10:00:00+00'],
    ['2026-03-01T10:00:00.1234567', '2026-03-01 10:00:00.123456+00'],
    ['2026-03-01T10:00:00.123456789+02:00', '2026-03-01 08:00:00.123456+00'],
    ['2026-03-01T10:00:00-0530', '2026-03-01 15:30:00+00'],
    ['2026-03-01T10:00:00+02', '2026-03-01 08:00:00+00'],
    ['2026-03-01T10:00Z', '2026-03-01 10:00:00+00'],
    ['2026-03-01t10:00:00z', '2026-03-01 10:00:00+00'],
    ['2026-03-01T10:00:00,5Z', '2026-03-01 10:00:00.5+00'],
    ['2026-03-01 10:00:00', '2026-03-01 10:00:00+00'],
    ['2026-03-01', '2026-03-01 00:00:00+00'],
    ['2024-02-29T00:00:00Z', '2024-02-29 00:00:00+00'],
    ['0001-01-01T00:00:00', '0001-01-01 00:00:00+00'],
    ['9999-12-31T23:59:59.9999999', '9999-12-31 23:59:59.999999+00'],
  ])('%s is kept as %s', async (sent, held) => {
    const id = anId()
    await loadRows(opened, events, [{ eventId: id, startDate: sent }], { observedAt: at('2026-03-02T00:00:00Z') })
    expect(await texts(opened, 'main.events', { columns: ['start_date'], where: `event_id = ${id}` })).toEqual([
      { start_date: held },
    ])
  })
})

it.each([
  ['last', ['wrong', 'late']],
  ['first', ['late', 'wrong']],
] as const)(
  'a change shown late outlives a row whose stamp lay in the future, if that is loaded %s',
  async (_, order) => {
    const id = anId()
    const rows = {
      wrong: { name: 'stamped an hour ahead', stamp: minutes(70), observed: minutes(10) },
      // Both are observed within settle. Otherwise the version that was requested later would be newer in any case.
      late: {
        name: 'changed before that was seen, shown later',
        stamp: minutes(8),
        observed: plusMs(minutes(10), 9_000),
      },
    }
    for (const each of order) {
      const { name, stamp, observed } = rows[each]
      const row = { eventId: id, name, aggregateRecordModified: formatInstant(stamp) }
      await loadPages(opened, events, { pages: [{ rows: [row], observedAt: observed }] })
    }
    const held = await texts(opened, 'main.events', { columns: ['name'], where: `event_id = ${id}` })
    expect(held).toEqual([{ name: rows.late.name }])
  },
)
