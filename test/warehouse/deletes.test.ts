/** Deleted rows: events say so themselves, budgets by the difference of two reads; undelete works the same way back. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { budgets } from '../../schema/reports/budgets.ts'
import { events } from '../../schema/reports/events.ts'
import { type Instant, plusMs } from '../../src/instant.ts'
import type { ChangesLoad } from '../../src/warehouse/load/loadInput.ts'
import { aWarehouse, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

let opened: OpenWarehouse
beforeAll(async () => {
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

const minutes = (count: number): Instant => plusMs(NOON, count * 60_000)
const NOON_TEXT = '2026-03-01T12:00:00Z'
const FLAGS = ['is_deleted', '_delete_evidence', '_deleted_seen_at']
const GONE_AT_1 = { is_deleted: 'true', _deleted_seen_at: '2026-03-01 12:01:00+00' }
const LIVE = { is_deleted: 'false', _delete_evidence: null, _deleted_seen_at: null }

const loadEvent = (id: number, minute: number, fields: object) =>
  loadRows(opened, events, [{ eventId: id, ...fields }], { observedAt: minutes(minute) })
const eventFlags = async (id: number) =>
  (await texts(opened, 'main.events', { columns: FLAGS, where: `event_id = ${id}` }))[0]

const budget = (id: number, name = 'x') => ({ budgetId: id, budgetName: name, modifiedAt: '2026-03-01T11:00:00Z' })
const loadBudgets = (
  rows: readonly object[],
  { minute, gone, currency = 'EUR' }: { minute: number; gone: ChangesLoad['gone']; currency?: string },
) => loadRows(opened, budgets, rows, { observedAt: minutes(minute), gone, asked: { target_currency: currency } })
const budgetFlags = (id: number) =>
  texts(opened, 'main.budgets', { columns: ['target_currency', ...FLAGS], where: `budget_id = ${id}` })

describe('an event', () => {
  it('is deleted as its flag says, seen first when it was seen first, and back when the flag says so', async () => {
    await loadEvent(1, 0, { name: 'a', isDeleted: false })
    expect(await eventFlags(1)).toEqual(LIVE)
    expect(await loadEvent(1, 1, { name: 'a', isDeleted: true })).toMatchObject({ updated: 1, deleted: 1 })
    expect(await eventFlags(1)).toEqual({ ...GONE_AT_1, _delete_evidence: 'flag' })
    expect(await loadEvent(1, 2, { name: 'b', isDeleted: true })).toMatchObject({ updated: 1, deleted: 0 })
    expect(await eventFlags(1)).toEqual({ ...GONE_AT_1, _delete_evidence: 'flag' })
    await loadEvent(1, 3, { name: 'b', isDeleted: false })
    expect(await eventFlags(1)).toEqual(LIVE)
  })

  it('keeps its flag when a row does not carry it, and takes null for not deleted or unknown, never for a loss', async () => {
    await loadEvent(2, 1, { isDeleted: true })
    await loadEvent(2, 2, { town: 'Bath' })
    expect(await eventFlags(2)).toEqual({ ...GONE_AT_1, _delete_evidence: 'flag' })
    await loadEvent(3, 1, { isDeleted: null })
    expect(await eventFlags(3)).toEqual(LIVE)
  })

  it('that is deleted is in the table and not in the current view', async () => {
    await loadEvent(4, 1, { isDeleted: true })
    expect(await texts(opened, 'current.events', { columns: ['event_id'], where: 'event_id = 4' })).toEqual([])
    expect(await texts(opened, 'main.events', { columns: ['event_id'], where: 'event_id = 4' })).toHaveLength(1)
  })
})

/** Two complete reconciles that don't find the events which are held. */
async function missTwice({ warehouse }: OpenWarehouse, minute: number): Promise<void> {
  const place = { report: events, scope: '', asked: { start: minutes(-600), filters: {} } }
  for (const reconcileId of ['first', 'second']) {
    const begun = { reconcileId, startedAt: minutes(minute), reached: undefined }
    await warehouse.continueOrBeginReconcile(place, begun)
    const found = { runId: 'run-1', now: minutes(minute), allowMassDelete: false }
    await warehouse.endReconcile({ ...place, ...begun, ...found })
  }
}

const summary = (totalChanges: number) => [{ eventId: 1, eventName: 'x', modifiedAt: NOON_TEXT, totalChanges }]
const flags = async (own: OpenWarehouse) => (await texts(own, 'main.events', { columns: FLAGS }))[0]

describe('an event that reconciles did not find', () => {
  it.each([
    ['as it was', 1],
    ['changed', 2],
  ])('is back when its summary is shown again, %s', { tags: 'long' }, async (_, totalChanges) => {
    await using own = await aWarehouse()
    await loadRows(own, events, summary(1), { observedAt: minutes(0) })
    await missTwice(own, 1)
    expect(await flags(own)).toEqual({ ...GONE_AT_1, _delete_evidence: 'absence' })
    await loadRows(own, events, summary(totalChanges), { observedAt: minutes(2) })
    expect(await flags(own)).toEqual(LIVE)
    expect(await texts(own, 'current.events', { columns: ['event_id'] })).toHaveLength(1)
  })

  it('is deleted by its flag as soon as a row says so, and a summary leaves it that', { tags: 'long' }, async () => {
    await using own = await aWarehouse()
    await loadRows(own, events, summary(1), { observedAt: minutes(0) })
    await missTwice(own, 1)
    await loadRows(own, events, [{ eventId: 1, name: 'x', isDeleted: true }], { observedAt: minutes(2) })
    expect(await flags(own)).toEqual({ ...GONE_AT_1, _delete_evidence: 'flag' })
    await loadRows(own, events, summary(2), { observedAt: minutes(3) })
    expect(await flags(own)).toEqual({ ...GONE_AT_1, _delete_evidence: 'flag' })
  })
})

describe('a budget', () => {
  it('is deleted when the second read lacks it, in that currency alone, and back when it has it again', async () => {
    await loadBudgets([budget(1), budget(2)], { minute: 0, gone: [] })
    await loadBudgets([budget(1)], { minute: 0, gone: [], currency: 'USD' })
    expect(await loadBudgets([budget(1), budget(2)], { minute: 1, gone: [[1, 'EUR']] })).toMatchObject({
      updated: 1,
      unchanged: 1,
      deleted: 1,
    })
    expect(await budgetFlags(1)).toEqual([
      { target_currency: 'EUR', ...GONE_AT_1, _delete_evidence: 'diff' },
      { target_currency: 'USD', ...LIVE },
    ])
    expect(await budgetFlags(2)).toEqual([{ target_currency: 'EUR', ...LIVE }])
    expect(await loadBudgets([budget(1)], { minute: 2, gone: [[1, 'EUR']] })).toMatchObject({
      updated: 0,
      unchanged: 1,
      deleted: 0,
    })
    expect(await loadBudgets([budget(1, 'renamed')], { minute: 2, gone: [[1, 'EUR']] })).toMatchObject({
      updated: 1,
      deleted: 0,
    })
    expect(await budgetFlags(1)).toMatchObject([{ ...GONE_AT_1, _delete_evidence: 'diff' }, LIVE])
    expect(await loadBudgets([budget(1, 'renamed')], { minute: 3, gone: [] })).toMatchObject({ updated: 1 })
    expect(await budgetFlags(1)).toMatchObject([LIVE, LIVE])
  })

  it('that is new and deleted already is stored as deleted', async () => {
    expect(
      await loadBudgets([budget(7)], {
        minute: 1,
        gone: [
          [7, 'EUR'],
          [8, 'EUR'],
        ],
      }),
    ).toMatchObject({ inserted: 1, deleted: 1 })
    expect(await budgetFlags(7)).toEqual([{ target_currency: 'EUR', ...GONE_AT_1, _delete_evidence: 'diff' }])
  })

  it('is deleted by a key that came as text, and a gone key that no row can have harms nothing', async () => {
    const sent = [budget(20), { ...budget(21), budgetId: '21' }, { ...budget(22), budgetId: 'abc' }, budget(23)]
    const gone: ChangesLoad['gone'] = [
      ['"21"', 'EUR'],
      ['"2\\u0033"', 'EUR'],
      ['"abc"', 'EUR'],
      ['"\\ud800"', 'EUR'],
      ['20.0', 'EUR'],
      ['[20]', 'EUR'],
    ]
    expect(await loadBudgets(sent, { minute: 1, gone })).toMatchObject({ inserted: 3, deleted: 3, rejected: 1 })
    for (const id of [20, 21, 23]) {
      expect(await budgetFlags(id)).toEqual([{ target_currency: 'EUR', ...GONE_AT_1, _delete_evidence: 'diff' }])
    }
  })

  it('is not brought back by an answer that is older than its deletion', async () => {
    await loadBudgets([budget(9)], { minute: 0, gone: [] })
    await loadBudgets([budget(9)], { minute: 5, gone: [[9, 'EUR']] })
    await loadBudgets([budget(9)], { minute: 3, gone: [] })
    expect(await budgetFlags(9)).toMatchObject([{ is_deleted: 'true' }])
  })
})
