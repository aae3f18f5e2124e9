/**
 * Rejected rows that the service has mended: they are rejected no longer once the load that brings them is committed.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { budgets } from '../../schema/reports/budgets.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { enquiryAuditEntries } from '../../schema/reports/enquiryAuditEntries.ts'
import { events } from '../../schema/reports/events.ts'
import type { Declaration } from '../../schema/report.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/config.ts'
import { plusMs } from '../../src/instant.ts'
import { retryRejected, type RetryContext } from '../../src/sync/retryRejected.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import {
  aWarehouse,
  loadPages,
  loadRows as load,
  NOON,
  ODD,
  type Given,
  type OpenWarehouse,
  texts,
  withOdd,
} from '../support/warehouse.ts'

const loadRows = (to: OpenWarehouse, report: Declaration, rows: readonly unknown[], given?: Given) =>
  load(to, report, withOdd(rows), given)

let opened: OpenWarehouse
beforeEach(async () => {
  opened = await aWarehouse()
})
afterEach(() => opened[Symbol.asyncDispose]())

const LATER = { observedAt: plusMs(NOON, 1_000) }
const kept = async () =>
  (await texts(opened, 'tidemark.rejected_rows', { columns: ['report', 'scope', 'key'] })).map(
    ({ report, scope, key }) => `${report} ${scope} ${key}`,
  )

describe('a rejected row', () => {
  it('is no longer rejected when it comes well-formed, even if the same version is already stored', async () => {
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 1 }], { observedAt: plusMs(NOON, -1_000) })
    await loadRows(
      opened,
      enquiries,
      [1, 2, 3].map((enquiryId) => ({ enquiryId, odd: 'twice' })),
    )
    await loadRows(
      opened,
      enquiries,
      [
        { enquiryId: 1, status: 1 },
        { enquiryId: 2, status: 5 },
      ],
      LATER,
    )
    expect(await kept()).toEqual(['enquiries  3'])
  })

  it('stays when the well-formed row is older, equally old, for another currency or of another report', async () => {
    await loadRows(opened, enquiries, [{ enquiryId: 1, odd: 'twice' }])
    await loadRows(opened, budgets, [{ budgetId: 1, odd: 'twice' }], { asked: { target_currency: 'EUR' } })
    const rejected = ['budgets EUR 1', 'enquiries  1']
    for (const observedAt of [plusMs(NOON, -1_000), NOON]) {
      await loadRows(opened, enquiries, [{ enquiryId: 1, status: 5 }], { observedAt, kind: 'backfill' })
    }
    await loadRows(opened, budgets, [{ budgetId: 1, budgetName: 'x' }], { ...LATER, asked: { target_currency: 'USD' } })
    await loadRows(opened, events, [{ eventId: 1 }], LATER)
    expect(await kept()).toEqual(rejected)
    await loadRows(opened, enquiries, [{ enquiryId: 1, odd: 'twice', status: 7 }], LATER)
    expect(await kept()).toEqual([...rejected, 'enquiries  1'])
  })

  it('stays if it has no key, and if its entry can not be distinguished from others', async () => {
    const asked = { enquiry_id: 7 }
    await loadRows(opened, enquiries, [{ status: 5 }, 'text'])
    await loadRows(opened, enquiryAuditEntries, [{ action: 'Odd', odd: 'twice' }], {
      asked,
      kind: 'audit',
      entryWindows: [],
    })
    const rejected = await kept()
    expect(rejected).toHaveLength(3)
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 5 }], LATER)
    const mended = [{ action: 'Odd', timestamp: '2026-02-01T00:00:00Z' }]
    await loadRows(opened, enquiryAuditEntries, mended, { ...LATER, asked, kind: 'audit', entryWindows: [] })
    expect(await kept()).toEqual(rejected)
  })

  it('stays when only its summary came, unless a summary was rejected', async () => {
    await loadRows(opened, events, [
      { eventId: 1, odd: 'twice' },
      { eventId: 2, eventName: 'x', odd: 'twice', modifiedAt: '2026-03-01T10:00:00Z' },
    ])
    const summaries = [1, 2].map((eventId) => ({ eventId, eventName: 'x', modifiedAt: '2026-03-01T11:00:00Z' }))
    await loadRows(opened, events, summaries, LATER)
    expect(await kept()).toEqual(['events  1'])
    await loadRows(opened, events, [{ eventId: 1, attendees: 5 }], { observedAt: plusMs(NOON, 2_000) })
    expect(await kept()).toEqual([])
  })

  it('that comes well-formed later in the same load counts as rejected, and is not kept', async () => {
    const pages = [
      { rows: withOdd([{ enquiryId: 1, odd: 'twice' }]) },
      { rows: [{ enquiryId: 1, status: 5 }], ...LATER },
    ]
    expect(await loadPages(opened, enquiries, { pages })).toMatchObject({ rejected: 1, inserted: 1 })
    expect(await kept()).toEqual([])
  })
})

describe('a load', () => {
  it('touches no rejected row of a report that has none', async () => {
    const written: string[] = []
    await loadRows(opened, events, [{ eventId: 1, odd: 'twice' }])
    await opened.warehouse.close()
    const around = <T>(sql: string, run: () => Promise<T>) => {
      written.push(sql)
      return run()
    }
    const warehouse = await Warehouse.open({ path: opened.path, memory: '512MB', threads: 1, around })
    opened = { ...opened, warehouse, [Symbol.asyncDispose]: () => warehouse.close() }
    const deletes = () => written.filter((sql) => /DELETE FROM tidemark\.rejected_rows/.test(sql)).length
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 1 }], LATER)
    expect(deletes()).toBe(0)
    await loadRows(opened, events, [{ eventId: 1, attendees: 5 }], LATER)
    expect(deletes()).toBe(1)
    expect(await kept()).toEqual([])
  })

  it('that stores correct rows during a retry makes the retry list its rows again, and none is lost', {
    tags: 'long',
  }, async () => {
    const ids = Array.from({ length: 600 }, (_, n) => n + 1)
    await loadRows(
      opened,
      enquiries,
      ids.map((enquiryId) => ({ enquiryId, odd: 'twice' })),
    )
    await opened.warehouse.rows(
      `UPDATE tidemark.rejected_rows SET row = replace(row::VARCHAR, '${ODD}', '"status":4')::JSON WHERE key <> '600'`,
    )
    let reads = 0
    const { warehouse } = opened
    const read = warehouse.books.rejectedRows
    warehouse.books.rejectedRows = async (ask) => {
      reads += 1
      const rows = await read(ask)
      if (reads === 1) await loadRows(opened, enquiries, [{ enquiryId: 1, status: 5 }], LATER)
      return rows
    }
    const env = { REPORTING_CLIENT_SECRET: 's', REPORTING_CLIENT_ID: 'c', REPORTING_BASE_URL: 'https://x.example' }
    const { reports } = await loadConfig({ cwd: opened.folder, env })
    const { signal } = new AbortController()
    const context: RetryContext = {
      warehouse,
      clock: systemClock,
      signal,
      settings: { reports, staging: opened.folder },
    }
    expect(await retryRejected(context, 'enquiries')).toEqual({
      report: 'enquiries',
      tried: 600,
      loaded: 599,
      rejected: 1,
    })
    expect(await kept()).toEqual(['enquiries  600'])
    const [held] = await opened.warehouse.rows(
      'SELECT count(*) AS rows, count(*) FILTER (status = 4) AS again, count(*) FILTER (status = 5) AS mended FROM enquiries',
    )
    expect(held).toEqual({ rows: 599, again: 598, mended: 1 })
  })
})
