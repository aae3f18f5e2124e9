/**
 * The books: marks, windows, loads, runs, freshness, followed records: what is told of what was pulled (product
 * contract §4).
 */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reportNames } from '../../schema/index.ts'
import { auditEntries } from '../../schema/reports/auditEntries.ts'
import { budgets } from '../../schema/reports/budgets.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { enquiryAuditEntries } from '../../schema/reports/enquiryAuditEntries.ts'
import { events } from '../../schema/reports/events.ts'
import { earliest, type Instant, latest, plusMs } from '../../src/instant.ts'
import type { MarkName } from '../../src/plan/marks.ts'
import { bookFigures } from '../../src/warehouse/books/bookFigures.ts'
import type { RunRecord } from '../../src/warehouse/books/runs.ts'
import type { ClosedWindow } from '../../src/warehouse/books/windows.ts'
import { liveRows, markOf } from '../support/held.ts'
import { aClosedWindow, at, aWarehouse, loadRows, NOON, type OpenWarehouse, openAt } from '../support/warehouse.ts'

let opened: OpenWarehouse
beforeAll(async () => {
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

const minutes = (count: number): Instant => plusMs(NOON, count * 60_000)

const closing = (scope: string, marks: readonly [MarkName, Instant][]): ClosedWindow =>
  aClosedWindow({
    scope,
    proof: 'total',
    pages: 2,
    rows: 3,
    totalCount: 3,
    marks: marks.map(([mark, value]) => ({ mark, value })),
  })

const aRun = (runId: string, more: Partial<RunRecord> = {}): RunRecord => ({
  runId,
  report: 'events',
  kind: 'incremental',
  state: 'done',
  startedAt: NOON,
  endedAt: minutes(1),
  pages: 1,
  rows: 2,
  inserted: 1,
  updated: 1,
  deleted: 0,
  rejected: 0,
  misfits: 0,
  ...more,
})

describe('a mark', () => {
  it('never moves back, whatever order windows close in, in each scope of its own', async () => {
    let tried = 0
    const someMarks = fc.array(fc.tuple(fc.constantFrom('EUR', 'USD'), fc.nat(50)), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(fc.array(someMarks, { minLength: 1, maxLength: 3 }), async (loads) => {
        tried += 1
        const scopeOf = (currency: string) => `${currency} ${tried}`
        const highest = new Map<string, Instant>()
        for (const marks of loads) {
          for (const [currency, minute] of marks) {
            highest.set(currency, latest(highest.get(currency) ?? minutes(0), minutes(minute)))
          }
          const closes = marks.map(([currency, minute]) =>
            closing(scopeOf(currency), [['modified_since', minutes(minute)]]),
          )
          await opened.warehouse.load({ kind: 'changes', report: enquiries, runId: 'r', now: NOON, closes })
          for (const [currency, value] of highest) {
            expect(await markOf(opened, 'enquiries', scopeOf(currency))).toBe(value)
          }
        }
        const rows = await opened.warehouse.rows(`SELECT 1 FROM tidemark.marks WHERE scope LIKE '% ${tried}'`)
        expect(rows).toHaveLength(highest.size)
      }),
      { numRuns: 15 },
    )
  })

  it('is undefined before the first window closes, and kept to the microsecond over a reopen', async () => {
    await using own = await aWarehouse()
    expect(await markOf(own, 'events')).toBeUndefined()
    const value = (NOON + 123_457) as Instant
    const marks: [MarkName, Instant][] = [
      ['modified_since', value],
      ['aggregate_record_modified', earliest(value, NOON)],
    ]
    await own.warehouse.load({ kind: 'changes', report: events, runId: 'r', now: NOON, closes: [closing('', marks)] })
    const { numberPrefix } = own.warehouse
    await own.warehouse.close()
    await using again = await openAt(own.path)
    expect(await markOf({ warehouse: again }, 'events')).toBe(value)
    expect(again.numberPrefix).toBe(numberPrefix)
    expect(await again.rows('SELECT mark FROM tidemark.marks ORDER BY 1')).toEqual([
      { mark: 'aggregate_record_modified' },
      { mark: 'modified_since' },
    ])
  })

  it('of numbers differs from warehouse to warehouse, so that no service can send it', async () => {
    await using other = await aWarehouse({ ownIdentity: true })
    expect(other.warehouse.numberPrefix).not.toBe(opened.warehouse.numberPrefix)
    expect(other.warehouse.numberPrefix).toMatch(/^~[0-9a-f]{32}~$/)
  })
})

describe('a load', () => {
  it('writes down its figures, its windows, its run, and numbers itself on', async () => {
    await using own = await aWarehouse()
    const { warehouse } = own
    const closes = [
      closing('', [['modified_since', NOON]]),
      { ...closing('', []), since: minutes(-5), until: minutes(2), proof: 'single', totalCount: undefined },
    ]
    const rows = [{ eventId: 1, meetingRooms: [{ id: 1 }, { id: 2 }] }, { eventId: 2 }, { eventId: 'x' }]
    await loadRows(own, events, rows, { closes, run: aRun('run-7', { inserted: 10, rejected: 1 }), runId: 'run-7' })
    await loadRows(own, events, rows)
    expect(
      await warehouse.rows(
        'SELECT * EXCLUDE (committed_at, bytes, late, lateness, asked_at, unflagged) FROM tidemark.loads ORDER BY load_id',
      ),
    ).toEqual([
      {
        load_id: 1,
        run_id: 'run-7',
        report: 'events',
        rows: 3,
        inserted: 2,
        updated: 0,
        unchanged: 0,
        deleted: 0,
        children_written: 2,
        rejected: 1,
        misfits: 0,
      },
      {
        load_id: 2,
        run_id: 'run-1',
        report: 'events',
        rows: 3,
        inserted: 0,
        updated: 0,
        unchanged: 2,
        deleted: 0,
        children_written: 0,
        rejected: 1,
        misfits: 0,
      },
    ])
    expect(
      await warehouse.rows(
        'SELECT scope, epoch_us(since) AS since, epoch_us(until) AS until, proof, pages, rows, total_count, load_id FROM tidemark.windows ORDER BY proof',
      ),
    ).toEqual([
      {
        scope: '',
        since: minutes(-5),
        until: minutes(2),
        proof: 'single',
        pages: 2,
        rows: 3,
        total_count: null,
        load_id: 1,
      },
      { scope: '', since: null, until: NOON, proof: 'total', pages: 2, rows: 3, total_count: 3, load_id: 1 },
    ])
    expect(
      await warehouse.rows('SELECT run_id, inserted, updated, deleted, rejected, state FROM tidemark.runs'),
    ).toEqual([{ run_id: 'run-7', inserted: 12, updated: 1, deleted: 0, rejected: 2, state: 'done' }])
  })

  it('waits for those before it, so that loads that start together all commit', async () => {
    await using own = await aWarehouse()
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => loadRows(own, enquiries, [{ enquiryId: n, status: n, [`field${n}`]: n }])),
    )
    expect(await liveRows(own, 'enquiries')).toBe(8)
    expect(await own.warehouse.rows('SELECT count(DISTINCT load_id) AS n FROM tidemark.loads')).toEqual([{ n: 8 }])
  })
})

describe('a run', () => {
  it('is stored once, in its last state, with its error and its cure', async () => {
    await opened.warehouse.recordRun(aRun('again'))
    const error = { code: 'SERVICE_TIMEOUT', message: "it didn't answer", cure: 'Wait.' }
    await opened.warehouse.recordRun(aRun('again', { state: 'failed', error }))
    expect(
      await opened.warehouse.rows(`SELECT state, error_code, error, cure FROM tidemark.runs WHERE run_id = 'again'`),
    ).toEqual([{ state: 'failed', error_code: 'SERVICE_TIMEOUT', error: "it didn't answer", cure: 'Wait.' }])
  })
})

describe('freshness', () => {
  it('has one row per report: mark, last run, rows, rejected, and which deletes are visible', async () => {
    await using own = await aWarehouse()
    const { warehouse } = own
    const states = reportNames.map((report) => ({
      report,
      enabled: report !== 'budgets',
      offReason: report === 'budgets' ? "it's off" : undefined,
    }))
    await warehouse.recordReportStates(states)
    await warehouse.recordReportStates(states)
    await loadRows(
      own,
      events,
      [
        { eventId: 1, isDeleted: true },
        { eventId: 2, isDeleted: false },
        { eventId: 'x', isDeleted: false },
      ],
      {
        closes: [
          closing('', [
            ['modified_since', NOON],
            ['aggregate_record_modified', minutes(9)],
          ]),
        ],
      },
    )
    await warehouse.recordRun(aRun('a', { endedAt: minutes(2), state: 'failed' }))
    await warehouse.recordRun(aRun('b', { endedAt: minutes(1) }))
    const rows = await warehouse.rows<Record<string, unknown>>(
      'SELECT * REPLACE (epoch_us(mark) AS mark, lag IS NOT NULL AS lag, epoch_us(last_run) AS last_run) FROM tidemark.freshness ORDER BY report',
    )
    expect(rows.map((row) => row['report'])).toEqual(reportNames.toSorted())
    expect(rows.find((row) => row['report'] === 'events')).toMatchObject({
      report: 'events',
      mark: NOON,
      lag: true,
      last_run: minutes(2),
      last_state: 'failed',
      rows: 2,
      deleted: 1,
      rejected: 1,
      deletes_visible: 'flag',
      enabled: true,
      not_running_because: null,
    })
    expect(rows.find((row) => row['report'] === 'budgets')).toMatchObject({
      mark: null,
      rows: 0,
      rejected: 0,
      misfits: 0,
      deletes_visible: 'diff',
      enabled: false,
      not_running_because: "it's off",
    })
  })

  it('has the lowest mark of the configured currencies, and none before each was read', { tags: 'long' }, async () => {
    await using own = await aWarehouse()
    const { warehouse } = own
    const closes = [closing('EUR', [['modified_since', minutes(5)]]), closing('USD', [['modified_since', minutes(3)]])]
    await warehouse.load({ kind: 'changes', report: budgets, runId: 'r', now: NOON, closes })
    const told: [readonly string[] | undefined, Instant | null][] = [
      [undefined, minutes(3)],
      [['EUR', 'USD'], minutes(3)],
      [['EUR'], minutes(5)],
      [['EUR', 'GBP'], null],
      [['EUR', 'USD', 'GBP'], null],
    ]
    for (const [scopes, mark] of told) {
      await warehouse.recordReportStates([{ report: 'budgets', enabled: true, offReason: undefined, scopes }])
      const fresh = 'SELECT epoch_us(mark) AS mark FROM tidemark.freshness'
      expect(await warehouse.rows(fresh), String(scopes)).toEqual([{ mark }])
      expect((await bookFigures(warehouse)).map((figures) => figures.mark ?? null)).toEqual([mark])
    }
  })
})

describe('a followed record', () => {
  const question = {
    report: 'audit_entries',
    follows: 'events',
    keyColumn: 'event_id',
    scopePrefix: '3:',
    now: NOON,
  } as const
  const followers = [{ report: 'audit_entries', scopePrefix: '3:', settleMs: 30_000 }]

  it('is due until its trail was read, and again when it is modified after that', { tags: 'long' }, async () => {
    await using own = await aWarehouse()
    const { warehouse } = own
    const show = (id: number, stamp: string, observedAt: string) =>
      loadRows(own, events, [{ eventId: id, aggregateRecordModified: stamp }], { observedAt, followers })
    const ask = (id: number, time: string) =>
      warehouse.load({
        report: auditEntries,
        runId: 'r',
        now: NOON,
        closes: [closing(`3:${id}`, [['since', at(time)]])],
        kind: 'audit',
        entryWindows: [],
        audited: [{ scope: `3:${id}`, at: at(time) }],
      })
    const due = async () =>
      (await warehouse.books.dueRecords(question)).map(({ recordId, scope, mark }) => [recordId, scope, mark])
    await show(1, '2026-03-01T10:00:00Z', '2026-03-01T12:00:00Z')
    await show(2, '2026-03-01T11:59:50Z', '2026-03-01T12:00:00Z')
    expect(await due()).toEqual([
      ['1', '3:1', undefined],
      ['2', '3:2', undefined],
    ])
    await ask(1, '2026-03-01T12:00:10Z')
    await ask(2, '2026-03-01T12:00:10Z')
    // The second was edited so lately that its entries may have settled only after it was asked about.
    expect(await due()).toEqual([['2', '3:2', at('2026-03-01T12:00:10Z')]])
    await ask(2, '2026-03-01T12:01:00Z')
    expect(await due()).toEqual([])
    await show(1, '2026-03-01T10:00:00Z', '2026-03-01T12:05:00Z')
    expect(await due(), 'shown again, unmodified').toEqual([])
    await show(1, '2026-03-01T12:04:00Z', '2026-03-01T12:05:00Z')
    expect(await due()).toEqual([['1', '3:1', at('2026-03-01T12:00:10Z')]])
  })

  it('is due again when a change of it is shown late, and when its time is before that of its trail', {
    tags: 'long',
  }, async () => {
    await using own = await aWarehouse()
    const { warehouse } = own
    const show = (row: Record<string, unknown>, observedAt: string) =>
      loadRows(own, events, [{ eventId: 1, ...row }], { observedAt, followers })
    const ask = (time: string) =>
      warehouse.load({
        report: auditEntries,
        runId: 'r',
        now: NOON,
        closes: [closing('3:1', [['since', at(time)]])],
        kind: 'audit',
        entryWindows: [],
        audited: [{ scope: '3:1', at: at(time) }],
      })
    const due = async () => (await warehouse.books.dueRecords(question)).map(({ recordId }) => recordId)
    await show({ aggregateRecordModified: '2026-03-01T10:00:00Z' }, '2026-03-01T10:01:00Z')
    await ask('2026-03-01T12:00:00Z')
    const late = { aggregateRecordModified: '2026-03-01T11:00:00Z', town: 'Bern' }
    await show(late, '2026-03-01T12:00:01Z')
    expect(await due(), 'stamped before it was asked about, shown behind').toEqual(['1'])
    await ask('2026-03-01T12:01:00Z')
    await show(late, '2026-03-01T12:02:00Z')
    expect(await due(), 'shown again as it was').toEqual([])
    await show(late, '2026-03-01T11:02:00Z')
    expect(await due(), 'by a clock that was set back').toEqual(['1'])
  })

  it('without a stamp is due whenever it is read again', async () => {
    await using own = await aWarehouse()
    const { warehouse } = own
    const show = (observedAt: string) =>
      loadRows(own, enquiries, [{ enquiryId: 4 }], {
        observedAt,
        followers: [{ report: 'enquiry_audit_entries', scopePrefix: '', settleMs: 30_000 }],
      })
    const due = async () =>
      (
        await warehouse.books.dueRecords({
          report: 'enquiry_audit_entries',
          follows: 'enquiries',
          keyColumn: 'enquiry_id',
          scopePrefix: '',
          now: NOON,
        })
      ).map(({ recordId }) => recordId)
    await show('2026-03-01T12:00:00Z')
    expect(await due()).toEqual(['4'])
    await warehouse.load({
      report: enquiryAuditEntries,
      runId: 'r',
      now: NOON,
      closes: [closing('4', [['since', at('2026-03-01T12:00:10Z')]])],
      kind: 'audit',
      entryWindows: [],
      audited: [{ scope: '4', at: at('2026-03-01T12:00:10Z') }],
    })
    expect(await due()).toEqual([])
    await show('2026-03-01T12:01:00Z')
    expect(await due()).toEqual(['4'])
  })
})
