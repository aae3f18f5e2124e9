/**
 * Rejected rows that are loaded again (product contract §4): what is mended comes in, what is newer stays, nothing
 * doubles.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { auditEntries } from '../../schema/reports/auditEntries.ts'
import { budgets } from '../../schema/reports/budgets.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { events } from '../../schema/reports/events.ts'
import type { Declaration } from '../../schema/report.ts'
import type { ReportName } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/config.ts'
import { plusMs } from '../../src/instant.ts'
import { retryRejected, type RetryContext } from '../../src/sync/retryRejected.ts'
import {
  at,
  aWarehouse,
  type Given,
  loadRows as load,
  NOON,
  ODD,
  type OpenWarehouse,
  type Rows,
  texts,
  withOdd,
} from '../support/warehouse.ts'

const loadRows = (to: OpenWarehouse, report: Declaration, rows: Rows, given?: Given) =>
  load(to, report, typeof rows === 'string' ? rows : withOdd(rows), given)

let opened: OpenWarehouse
beforeEach(async () => {
  opened = await aWarehouse()
})
afterEach(() => opened[Symbol.asyncDispose]())

async function retry(report: ReportName) {
  const env = { REPORTING_CLIENT_SECRET: 's', REPORTING_CLIENT_ID: 'c', REPORTING_BASE_URL: 'https://x.example' }
  const { reports } = await loadConfig({ cwd: opened.folder, env })
  const context: RetryContext = {
    warehouse: opened.warehouse,
    clock: systemClock,
    signal: new AbortController().signal,
    settings: { reports, staging: opened.folder },
  }
  return retryRejected(context, report)
}

const kept = () => texts(opened, 'tidemark.rejected_rows', { columns: ['scope', 'key', 'reason', 'row'] })

/** What a newer Tidemark, with a wider declaration, does to rows that are kept: they are what it takes. */
const mend = (from: string, to: string) =>
  opened.warehouse.rows(
    `UPDATE tidemark.rejected_rows SET row = replace(row::VARCHAR, '${from}', '${to}')::JSON WHERE row::VARCHAR LIKE '%${from}%' RETURNING 1`,
  )

describe('a rejected row that is loaded again', () => {
  it('comes in with its children and the time at which it was sent, and is rejected no longer', async () => {
    const row = { eventId: 1, odd: 'twice', meetingRooms: [{ id: 7, room: 'A' }] }
    await loadRows(opened, events, [row, { eventId: 2 }], { observedAt: NOON })
    await mend(ODD, '"attendees":12')
    expect(await retry('events')).toEqual({ report: 'events', tried: 1, loaded: 1, rejected: 0 })
    expect(await texts(opened, 'main.events', { columns: ['event_id', 'attendees'], where: 'event_id = 1' })).toEqual([
      { event_id: '1', attendees: '12' },
    ])
    const [held] = await opened.warehouse.rows('SELECT epoch_us(_observed_at) AS at FROM events WHERE event_id = 1')
    expect(held).toEqual({ at: NOON })
    expect(await texts(opened, 'main.events__meeting_rooms', { columns: ['_child_key', 'room'] })).toEqual([
      { _child_key: '7', room: 'A' },
    ])
    expect(await kept()).toEqual([])
  })

  it('stays, once and with the reason of today, while it can not be stored', async () => {
    await loadRows(opened, events, [{ eventId: 1, odd: 'twice', town: 'many' }, { eventId: 2, odd: 'twice' }, 'text'])
    await mend('"many"', '"lots"')
    expect(await retry('events')).toEqual({ report: 'events', tried: 3, loaded: 0, rejected: 3 })
    const reasons = (await kept()).map(({ reason }) => reason)
    expect(new Set(reasons)).toEqual(new Set(['the field odd is there twice', 'the row is no object']))
    expect(await retry('events')).toMatchObject({ tried: 3, rejected: 3 })
    expect(await kept()).toHaveLength(3)
  })

  it('never replaces a newer version, by its stamp or by the time at which it was seen', async () => {
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 2 }], { observedAt: plusMs(NOON, 60_000) })
    await loadRows(opened, enquiries, [{ enquiryId: 1, odd: 'twice' }], { observedAt: NOON })
    await loadRows(opened, events, [{ eventId: 1, odd: 'twice', aggregateRecordModified: '2026-03-01T10:00:00Z' }])
    await loadRows(opened, events, [{ eventId: 1, attendees: 5, aggregateRecordModified: '2026-03-01T11:00:00Z' }], {
      observedAt: plusMs(NOON, -60_000),
    })
    await mend(`"enquiryId":1,${ODD}`, '"enquiryId":1,"status":1')
    await mend(ODD, '"attendees":4')
    expect(await retry('enquiries')).toMatchObject({ loaded: 1, rejected: 0 })
    expect(await retry('events')).toMatchObject({ loaded: 1, rejected: 0 })
    expect(await texts(opened, 'main.enquiries', { columns: ['status'] })).toEqual([{ status: '2' }])
    expect(await texts(opened, 'main.events', { columns: ['attendees'] })).toEqual([{ attendees: '5' }])
  })

  it('replaces an older version', async () => {
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 1 }], { observedAt: plusMs(NOON, -60_000) })
    await loadRows(opened, enquiries, [{ enquiryId: 1, odd: 'twice' }], { observedAt: NOON })
    await mend(ODD, '"status":2')
    await retry('enquiries')
    expect(await texts(opened, 'main.enquiries', { columns: ['status'] })).toEqual([{ status: '2' }])
  })

  it('keeps its currency, its digits, and the newest of several versions of a key', async () => {
    for (const [currency, digits] of [
      ['EUR', '1234567890123456789.123456789'],
      ['USD', '0.10'],
    ] as const) {
      const row = `[{"budgetId":5,${ODD},"totalAmount":${digits}}]`
      await loadRows(opened, budgets, row, { asked: { target_currency: currency } })
      await loadRows(opened, budgets, row.replace(ODD, `"budgetName":"old",${ODD}`).replace(digits, '3'), {
        asked: { target_currency: currency },
        observedAt: plusMs(NOON, -1_000),
      })
    }
    await mend(`"old",${ODD}`, '"old"')
    await mend(ODD, '"budgetName":"new"')
    expect(await retry('budgets')).toMatchObject({ tried: 4, loaded: 4 })
    const columns = ['target_currency', 'budget_name', 'total_amount']
    expect(await texts(opened, 'main.budgets', { columns })).toEqual([
      { target_currency: 'EUR', budget_name: 'new', total_amount: '1234567890123456789.123456789' },
      { target_currency: 'USD', budget_name: 'new', total_amount: '0.100000000' },
    ])
  })

  it('of an audit trail joins the other entries of its record', async () => {
    const asked = { entity_id: 3, entity_record_id: 77 }
    const entryWindows = [{ record: [3, 77], since: at('2026-01-01T00:00:00Z'), until: NOON }]
    const rows = [{ action: 'Created', timestamp: '2026-02-01T00:00:00Z' }, { action: 'Odd' }]
    await loadRows(opened, auditEntries, [...rows, { action: 'Updated', odd: 'twice' }], {
      kind: 'audit',
      asked,
      entryWindows,
    })
    expect((await kept()).map(({ scope }) => scope)).toEqual(['3:77'])
    await mend(ODD, '"timestamp":"2026-02-02T00:00:00Z"')
    expect(await retry('audit_entries')).toMatchObject({ loaded: 1, rejected: 0 })
    const columns = ['entity_id', 'entity_record_id', 'action', 'entry_number']
    const entries = await texts(opened, 'main.audit_entries', { columns })
    expect(new Set(entries.map(({ action }) => action))).toEqual(new Set(['Created', 'Odd', 'Updated']))
    expect(entries).toHaveLength(3)
    expect(new Set(entries.map(({ entry_number }) => entry_number)).size).toBe(3)
    expect(new Set(entries.map((entry) => `${entry['entity_id']}:${entry['entity_record_id']}`))).toEqual(
      new Set(['3:77']),
    )
  })

  it('comes in batches that are each taken whole, and a second time there is nothing to do', {
    tags: 'long',
  }, async () => {
    for (const load of [1, 2, 3]) {
      const rows = Array.from({ length: 2_600 }, (_, n) => ({ eventId: load * 10_000 + n, odd: 'twice' }))
      await loadRows(opened, events, rows)
    }
    await mend(ODD, '"attendees":1')
    expect(await retry('events')).toMatchObject({ tried: 7_800, loaded: 7_800 })
    expect(await opened.warehouse.rows('SELECT count(*) AS n FROM events')).toEqual([{ n: 7_800 }])
    expect(await retry('events')).toEqual({ report: 'events', tried: 0, loaded: 0, rejected: 0 })
  })
})

const toldBudgets = (gone: readonly (readonly [number, string])[], rows: readonly object[], minute = 0) =>
  loadRows(opened, budgets, rows, {
    observedAt: plusMs(NOON, minute * 60_000),
    asked: { target_currency: 'EUR' },
    rules: { contract: 'reject', excludePayload: false, settleMs: 30_000 },
    gone,
  })
const oddBudget = (budgetId: number, more: object = {}) => ({
  budgetId,
  modifiedAt: '2026-03-01T11:00:00Z',
  note: 'x',
  ...more,
})
const heldBudgets = () => texts(opened, 'main.budgets', { columns: ['budget_id', 'is_deleted', '_delete_evidence'] })

describe('a rejected budget', () => {
  it('that was deleted at the service comes in as deleted, the others as they are', async () => {
    await toldBudgets(
      [
        [1, 'EUR'],
        [3, 'EUR'],
      ],
      [oddBudget(1), oddBudget(2), { budgetId: 3, modifiedAt: '2026-03-01T11:00:00Z' }],
    )
    expect((await kept()).map(({ key, reason }) => [key, reason?.startsWith('deleted at the service; ')])).toEqual([
      ['1', true],
      ['2', false],
    ])
    expect(await retry('budgets')).toMatchObject({ tried: 2, loaded: 2, rejected: 0 })
    expect(await heldBudgets()).toEqual([
      { budget_id: '1', is_deleted: 'true', _delete_evidence: 'diff' },
      { budget_id: '2', is_deleted: 'false', _delete_evidence: null },
      { budget_id: '3', is_deleted: 'true', _delete_evidence: 'diff' },
    ])
  })

  it('that was deleted, or came back, after it was refused is kept once, as it was seen last', async () => {
    await toldBudgets([[2, 'EUR']], [oddBudget(1), oddBudget(2)])
    await toldBudgets([[1, 'EUR']], [oddBudget(1), oddBudget(2)], 1)
    await toldBudgets([[1, 'EUR']], [oddBudget(1), oddBudget(2)], 2)
    expect(await retry('budgets')).toMatchObject({ tried: 2, loaded: 2 })
    expect((await heldBudgets()).map((row) => row['is_deleted'])).toEqual(['true', 'false'])
  })

  it('that is refused once more is still known to be deleted', async () => {
    await toldBudgets([[1, 'EUR']], [oddBudget(1, { odd: 'twice' })])
    expect(await retry('budgets')).toMatchObject({ loaded: 0, rejected: 1 })
    await mend(ODD, '"totalAmount":1')
    expect(await retry('budgets')).toMatchObject({ loaded: 1 })
    expect((await heldBudgets()).map((row) => row['is_deleted'])).toEqual(['true'])
  })
})
