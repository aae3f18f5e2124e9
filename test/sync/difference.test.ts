/** Rows that only the difference of two reads shows to be deleted: budgets, and events without a flag. */
import { describe, expect, it } from 'vitest'
import type { ReportingClient } from '../../src/client/reporting.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'
import { withMethods } from '../support/withMethods.ts'
import { aTideAnsweredBy } from './answering.ts'
import { bodiesOf, differencesOf, stampAlike } from './stories.ts'

/** SyncContext whose client calls `beforeSecondRead` before each request without deleted rows. */
function roomsThat(tide: Tide, beforeSecondRead: () => void): SyncContext {
  const { context } = tide
  const read: ReportingClient['read'] = (request, signal) => {
    if ((request.body as { includeDeleted?: boolean }).includeDeleted === false) beforeSecondRead()
    return context.client.read(request, signal)
  }
  return { ...context, client: withMethods(context.client, { read }) }
}

const deletedOf = async ({ warehouse }: Tide, key: number): Promise<boolean[]> =>
  (await warehouse.rows<{ is_deleted: boolean }>(`SELECT is_deleted FROM budgets WHERE budget_id = ${key}`)).map(
    (row) => row.is_deleted,
  )

it('a budget that comes malformed in the second read is there, and not taken for deleted', {
  tags: 'long',
}, async () => {
  await using tide = await aTide({ sandbox: { rows: 12 } })
  await tide.sync('budgets')
  const { world } = tide.sandbox
  const [key, other] = world.liveKeys('budgets') as [number, number]
  const sound = JSON.stringify(world.row('budgets', key)?.['budgetName'])
  for (const each of [key, other]) world.edit('budgets', each)
  const context = roomsThat(tide, () => world.putRow('budgets', key, { budgetName: `${sound},"budgetName":"again"` }))
  const [outcome] = await syncAll(context, ['budgets'])
  expect(outcome?.state).toBe('done')
  expect(await deletedOf(tide, key)).not.toContain(true)
  world.putRow('budgets', key, { budgetName: sound })
  world.edit('budgets', key)
  await tide.sync('budgets')
  expect(await differencesOf(tide, 'budgets')).toEqual([])
})

it('a budget edited between both reads with a stamp in the future is there, and not taken for deleted', async () => {
  let stamp = '2026-01-01T10:00:00Z'
  await using tide = await aTideAnsweredBy(
    ({ body }) => {
      if (body['includeDeleted'] === false) stamp = new Date(tide.context.clock.now() / 1_000 + 3_600_000).toISOString()
      const [since, at, until] = [body['modifiedSince'], stamp, body['modifiedUntil']].map((time) =>
        Date.parse(String(time)),
      )
      const isThere = Number(since) <= Number(at) && Number(at) <= Number(until) && body['pageNumber'] === 1
      return isThere ? `[{"budgetId":1,"budgetName":"x","modifiedAt":"${stamp}"}]` : '[]'
    },
    { currencies: ['EUR'] },
  )
  expect(await tide.sync('budgets')).toMatchObject([{ state: 'done' }])
  expect(await deletedOf(tide, 1)).toEqual([false])
})

/** Times before now (s): at the first read, from the second read on, and from the third read on. */
const EDITS = [
  ['whose stamp goes back between both reads', [60, 9e8, 9e8]],
  ['whose stamp goes back between both reads, and forward before the third', [60, 9e8, 120]],
] as const

/** One budget: as the second read and the third read begin, it gets the next of `stamps`. */
async function aTideOfOneBudget(budget: { stamps: readonly number[]; deleted: boolean }) {
  let reads: boolean[] = []
  const tide = await aTideAnsweredBy(
    ({ body }) => {
      const withDeleted = body['includeDeleted'] === true
      if ('includeDeleted' in body && reads.at(-1) !== withDeleted) reads.push(withDeleted)
      const ago = budget.stamps[reads.length - 1] ?? 0
      const stamp = new Date(Math.floor(begun / 1_000) - ago * 1_000).toISOString()
      const [since, at, until] = [body['modifiedSince'], stamp, body['modifiedUntil']].map((time) =>
        Date.parse(String(time)),
      )
      const isThere = Number(since) <= Number(at) && Number(at) <= Number(until) && body['pageNumber'] === 1
      return isThere && (withDeleted || !budget.deleted)
        ? `[{"budgetId":1,"budgetName":"x","modifiedAt":"${stamp}"}]`
        : '[]'
    },
    { currencies: ['EUR'] },
  )
  let begun = tide.context.clock.now()
  const sync = async () => {
    begun = tide.context.clock.now()
    reads = [true]
    expect(await tide.sync('budgets')).toMatchObject([{ state: 'done' }])
    return { reads, deleted: await deletedOf(tide, 1) }
  }
  return Object.assign(tide, { syncOnce: sync })
}

it.each(EDITS)('a budget %s is there, and not taken for deleted', async (_, stamps) => {
  await using tide = await aTideOfOneBudget({ stamps, deleted: false })
  expect(await tide.syncOnce()).toEqual({ reads: [true, false, true], deleted: [false] })
})

it.each(EDITS)('a budget known to be deleted, %s, stays deleted', { tags: 'long' }, async (_, stamps) => {
  const budget = { stamps: [60, 60, 60] as readonly number[], deleted: true }
  await using tide = await aTideOfOneBudget(budget)
  expect(await tide.syncOnce()).toEqual({ reads: [true, false, true], deleted: [true] })
  budget.stamps = stamps
  expect(await tide.syncOnce()).toMatchObject({ deleted: [true] })
})

const DAY_MS = 86_400_000

/** 60 old budgets, one a day, on pages of ten. `isShown` decides which of them a request returns. */
async function aTideOfOldBudgets(isShown: (key: number, asked: BudgetRequest) => boolean, apartMs = DAY_MS) {
  const stamps = Array.from({ length: 60 }, (_, n) => Date.UTC(2025, 6, 1) + n * apartMs)
  const requests: BudgetRequest[] = []
  const tide = await aTideAnsweredBy(
    ({ body }) => {
      const [since, until] = [body['modifiedSince'], body['modifiedUntil']].map((time) => Date.parse(String(time)))
      const [page, size] = [Number(body['pageNumber']), Number(body['pageSize'])]
      const asked = {
        isFirst: 'expand' in body,
        withDeleted: body['includeDeleted'],
        length: Number(until) - Number(since),
      }
      requests.push(asked)
      const rows = stamps.flatMap((stamp, n) =>
        stamp >= Number(since) && stamp <= Number(until) && isShown(n + 1, asked)
          ? [`{"budgetId":${n + 1},"budgetName":"x","modifiedAt":"${new Date(stamp).toISOString()}"}`]
          : [],
      )
      return `[${rows.slice((page - 1) * size, page * size).join(',')}]`
    },
    { currencies: ['EUR'], defaults: { page_size: 10 } },
  )
  return Object.assign(tide, { requests })
}

interface BudgetRequest {
  readonly isFirst: boolean
  /** The parameter `includeDeleted`. */
  readonly withDeleted: unknown
  /** Milliseconds from the lower bound to the upper one. */
  readonly length: number
}

const gone = async ({ warehouse }: Tide): Promise<number[]> =>
  (await warehouse.rows<{ id: number }>('SELECT budget_id AS id FROM budgets WHERE is_deleted ORDER BY 1')).map(
    ({ id }) => id,
  )

const isShort = ({ length }: BudgetRequest): boolean => length <= 2_000

it('a deleted budget in a slice of many pages costs its page and two short requests, not one more read', async () => {
  await using tide = await aTideOfOldBudgets((key, { withDeleted }) => key !== 23 || withDeleted === true)
  await tide.sync('budgets')
  expect(await gone(tide)).toEqual([23])
  const third = tide.requests.filter(({ isFirst, withDeleted }) => !isFirst && withDeleted === true)
  expect(third.map(isShort)).toEqual([false, true])
  expect(tide.requests.filter((each) => each.withDeleted === false && isShort(each))).toHaveLength(1)
})

it('a living budget that a second read of several pages lacked is there, and not taken for deleted', async () => {
  await using tide = await aTideOfOldBudgets((key, { withDeleted, length }) => {
    if (key === 23) return withDeleted === true
    return key !== 24 || withDeleted !== false || length < DAY_MS
  })
  await tide.sync('budgets')
  expect(await gone(tide)).toEqual([23])
})

it.each([
  ['on all pages', DAY_MS],
  ['at one instant', 0],
])('deleted budgets %s cost one read of their pages', async (_, apartMs) => {
  await using tide = await aTideOfOldBudgets((key, { withDeleted }) => key % 3 > 0 || withDeleted === true, apartMs)
  await tide.sync('budgets')
  expect(await gone(tide)).toEqual(Array.from({ length: 20 }, (__, n) => 3 * n + 3))
  const third = tide.requests.filter(({ isFirst, withDeleted }) => !isFirst && withDeleted === true)
  expect(third).toHaveLength(6)
})

it('deleted budgets whose key came as text stop no run, and the one with a readable key is known to be deleted', {
  tags: 'long',
}, async () => {
  await using tide = await aTide({ sandbox: { rows: 12 } })
  await tide.sync('budgets')
  const { world } = tide.sandbox
  const [odd, readable] = world.liveKeys('budgets') as [number, number]
  world.softDelete('budgets', odd)
  world.softDelete('budgets', readable)
  world.putRow('budgets', odd, { budgetId: '"abc"' })
  world.putRow('budgets', readable, { budgetId: `"${readable}"` })
  expect(await tide.sync('budgets')).toMatchObject([{ state: 'done' }])
  expect(new Set(await deletedOf(tide, readable))).toEqual(new Set([true]))
  expect(await tide.warehouse.rows('SELECT DISTINCT key FROM tidemark.rejected_rows')).toEqual([{ key: 'abc' }])
})

it('no load takes deleted budgets for live ones that a walk over a longer span brought before it was cut', {
  tags: 'long',
}, async () => {
  const settings = { currencies: ['EUR'], defaults: { page_size: 20 }, limits: { load_rows_max: 25 } }
  await using tide = await aTide({ sandbox: { rows: 150, collections: false }, settings })
  const { world } = tide.sandbox
  for (const key of world.liveKeys('budgets').slice(20, 60)) world.softDelete('budgets', key)
  stampAlike(tide, 'budgets', world.keys('budgets').slice(10, 120))
  await tide.sync('budgets')
  const { warehouse } = tide.context
  const deletedNow = async (): Promise<number> => {
    const [row] = await warehouse.rows<{ n: number }>('SELECT count(*)::INT AS n FROM budgets WHERE is_deleted')
    return row?.n ?? 0
  }
  const before = await deletedNow()
  const counts: number[] = []
  const load: typeof warehouse.load = async (input) => {
    const loaded = await warehouse.load(input)
    counts.push(await deletedNow())
    return loaded
  }
  const context = { ...tide.context, warehouse: withMethods(warehouse, { load }) }
  tide.sandbox.setFaults(['unordered'])
  await reconcileReport(context, 'budgets', { runId: 'compared', allowMassDelete: false })
  expect(counts.length).toBeGreaterThan(2)
  expect(new Set(counts)).toEqual(new Set([before]))
})

describe.each([
  ['summary', {}],
  ['mixed', { tags: 'long' }],
] as const)('events in the shape %s', (eventShape, options) => {
  it('are known to be deleted and undeleted by two reads where they carry no flag', options, async () => {
    await using tide = await aTide({ sandbox: { rows: 40, eventShape } })
    const { world } = tide.sandbox
    const keys = world.liveKeys('events').slice(0, 8)
    const first = world.keys('events').filter((key) => !world.liveKeys('events').includes(key))
    await tide.sync('events')
    const gone = async () =>
      (await tide.warehouse.rows<{ id: number }>('SELECT event_id AS id FROM events WHERE is_deleted ORDER BY 1')).map(
        ({ id }) => id,
      )
    expect(await gone()).toEqual(first)
    for (const key of keys) world.softDelete('events', key)
    await tide.sync('events')
    expect(await gone()).toEqual([...first, ...keys].toSorted((a, b) => a - b))
    const told = await tide.warehouse.rows<{ how: string }>(
      'SELECT DISTINCT _delete_evidence AS how FROM events WHERE is_deleted ORDER BY 1',
    )
    expect(told.map(({ how }) => how)).toEqual(eventShape === 'mixed' ? ['diff', 'flag'] : ['diff'])
    const [fresh] = await tide.warehouse.rows<{ how: string; explained: string }>(
      `SELECT deletes_visible AS how, explained FROM tidemark.freshness WHERE report = 'events'`,
    )
    expect(fresh?.how).toBe('diff')
    expect(fresh?.explained).toContain('two reads are compared')
    for (const key of keys) world.undelete('events', key)
    await tide.sync('events')
    expect(await gone()).toEqual(first)
    expect(await tide.sync('events')).toMatchObject([{ figures: { updated: 0, deleted: 0 } }])
  })
})

it('events in the full shape cost no second read, and say so themselves', { tags: 'long' }, async () => {
  await using tide = await aTide({ sandbox: { rows: 40 } })
  await tide.sync('events')
  tide.sandbox.world.softDelete('events', tide.sandbox.world.liveKeys('events')[0] as number)
  await tide.sync('events')
  const bodies = bodiesOf(tide, 'events')
  expect(bodies.filter(({ includeDeleted }) => includeDeleted === false)).toEqual([])
  expect(bodies.filter(({ includeDeleted }) => includeDeleted === true).length).toBeGreaterThan(1)
  const [fresh] = await tide.warehouse.rows(
    `SELECT deletes_visible AS how FROM tidemark.freshness WHERE report = 'events'`,
  )
  expect(fresh).toEqual({ how: 'flag' })
})

it('summaries of a long walk are loaded together with the second read that says which are deleted', {
  tags: 'long',
}, async () => {
  const settings = { defaults: { page_size: 10 }, limits: { load_rows_max: 10 } }
  await using tide = await aTide({ sandbox: { rows: 120, eventShape: 'mixed', collections: false }, settings })
  const { world } = tide.sandbox
  for (const key of world.liveKeys('events').slice(10, 60)) world.softDelete('events', key)
  await tide.sync('events')
  const live = world.liveKeys('events').toSorted((a, b) => a - b)
  expect(await tide.warehouse.rows('SELECT event_id AS id FROM events WHERE NOT is_deleted ORDER BY 1')).toEqual(
    live.map((id) => ({ id })),
  )
})

it('an edit whose own stamp is new and whose aggregate stamp went back is taken by the next run', {
  tags: 'long',
}, async () => {
  await using tide = await aTide({ sandbox: { rows: 12 }, settings: { defaults: { settle: '0s' } } })
  await tide.sync('events')
  const { world } = tide.sandbox
  const key = world.liveKeys('events')[0] as number
  await new Promise((resolve) => setTimeout(resolve, 2_100))
  tide.sandbox.setFaults(['stamps-back:86400'])
  world.edit('events', key)
  expect(await tide.sync('events')).toMatchObject([{ figures: { updated: 1 } }])
  expect(await differencesOf(tide, 'events')).toEqual([])
})
