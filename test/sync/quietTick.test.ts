/**
 * What a run costs that finds nothing new, which most runs do: requests by report, and statements of the
 * warehouse.
 */
import { describe, expect, it } from 'vitest'
import { type ReportName, reportNames, reportOf, reports } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { NO_COUNTS } from '../../src/warehouse/load/loadInput.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aTideWithoutCollections as aTide } from '../support/tide.ts'
import { aClosedWindow, NOON } from '../support/warehouse.ts'

/**
 * Returns the requests of a run of the report that finds nothing new. Each currency has its own window: one request by
 * modification. Where rows may never have been modified, there is also one by time of creation, and one for the total
 * that is compared with the rows held. Audits read the trails of records that changed: none did.
 */
function requestsOf({ perRecord, created, currency }: Declaration): number {
  const currencies = currency === undefined ? 1 : CURRENCIES.length
  const each = perRecord !== undefined ? 0 : created === undefined ? 1 : 3
  return each * currencies
}

/** All runs in the books, and the mark of events. */
const BOOKS = `SELECT count(*) AS runs, (SELECT epoch_us(value) FROM tidemark.marks
  WHERE report = 'events' AND mark = 'modified_since') AS mark FROM tidemark.runs`

interface Books {
  readonly runs: number
  readonly mark: number
}

const CURRENCIES = ['EUR', 'USD']

describe('a run that finds nothing new', () => {
  it('asks once for each walk that its report needs', async () => {
    await using tide = await aTide()
    await tide.sync()
    await tide.sync()
    const requests: Record<string, number> = {}
    for (const report of reportNames) {
      const before = tide.client.counters.requests
      await tide.sync(report)
      requests[report] = tide.client.counters.requests - before
    }
    expect(requests).toEqual(Object.fromEntries(reports.map((report) => [report.name, requestsOf(report)])))
  })

  it('executes no statement, and the next statement of another caller writes all such runs at once', async () => {
    const statements: string[] = []
    let writes = 0
    await using tide = await aTide({ onStatement: (sql) => statements.push(sql), onWrite: () => (writes += 1) })
    for (const _ of [1, 2]) await tide.sync()
    await tide.warehouse.rows(BOOKS)
    // The first run after a write reads the marks again.
    await tide.sync()
    const [before] = await tide.warehouse.rows<Books>(BOOKS)
    // The service's clock has whole seconds.
    tide.clock.pass(60_000)
    await tide.sync()
    statements.length = 0
    writes = 0
    await tide.sync()
    expect({ statements, writes }).toEqual({ statements: [], writes: 0 })
    const [after] = await tide.warehouse.rows<Books>(BOOKS)
    expect({ writes, runs: (after?.runs ?? 0) - (before?.runs ?? 0) }).toEqual({
      writes: 1,
      runs: 2 * reportNames.length,
    })
    for (const table of ['requests', 'covered', 'loads', 'runs'])
      expect(statements.filter((sql) => sql.includes(`INSERT INTO tidemark.${table} `))).toHaveLength(1)
    expect(after?.mark).toBeGreaterThan(before?.mark ?? Infinity)
    expect(await tide.warehouse.rows("SELECT 1 FROM tidemark.runs WHERE state <> 'done'")).toEqual([])
  })

  it('asks from the mark of the run before, although that mark is not written yet', async () => {
    await using tide = await aTide()
    for (const _ of [1, 2, 3]) await tide.sync('events')
    tide.clock.pass(3_600_000)
    await tide.sync('events')
    tide.clock.pass(60_000)
    await tide.sync('events')
    const windows = await tide.warehouse.rows<{ span: number }>(
      "SELECT floor(epoch(until - since) / 60) AS span FROM tidemark.windows WHERE report = 'events' ORDER BY load_id DESC LIMIT 2",
    )
    expect(windows.map(({ span }) => span)).toEqual([11, 70])
  })

  it('is read again if it could not be written, and no row is lost', async () => {
    let fails = false
    await using tide = await aTide({
      onStatement: (sql) => {
        if (fails && sql.includes('INTO tidemark.windows')) throw new Error('disk full')
      },
    })
    for (const _ of [1, 2]) await tide.sync('events')
    await tide.sync('events')
    const [event] = tide.sandbox.world.liveKeys('events')
    fails = true
    await expect(tide.warehouse.rows(BOOKS)).rejects.toMatchObject({ code: 'DISK_FULL' })
    fails = false
    tide.sandbox.world.edit('events', event as number)
    const [outcome] = await tide.sync('events')
    expect(outcome?.figures.updated).toBe(1)
  })

  it('is written when the warehouse is closed', async () => {
    await using tide = await aTide()
    for (const _ of [1, 2, 3]) await tide.sync('events')
    await tide.warehouse.close()
    await using again = await Warehouse.open({ path: tide.config.warehouse, memory: '256MB' })
    expect(await again.rows('SELECT count(*) AS runs FROM tidemark.runs')).toEqual([{ runs: 3 }])
  })

  it('is written once if it ends while the run before it is being written', async () => {
    let onBegin: (() => Promise<unknown>) | undefined
    await using warehouse = await Warehouse.open({
      path: ':memory:',
      memory: '256MB',
      around: async (sql, run) => {
        if (sql === 'BEGIN') await onBegin?.()
        return await run()
      },
    })
    const quietRunOf = async (report: ReportName) => {
      const runId = `run of ${report}`
      const fence = await warehouse.takeFence({ report, kind: 'incremental', holder: runId })
      const figures = { ...NO_COUNTS, pages: 1, rows: 0, rejected: 0 }
      warehouse.beginRun({ ...figures, runId, report, kind: 'incremental', startedAt: NOON })
      const closes = [aClosedWindow({ rows: 0 })]
      return () => warehouse.load({ kind: 'changes', report: reportOf(report), runId, now: NOON, fence, closes })
    }
    const [first, second] = [await quietRunOf('events'), await quietRunOf('enquiries')]
    await first()
    onBegin = () => {
      onBegin = undefined
      return second()
    }
    for (const _ of [1, 2]) {
      expect(await warehouse.rows('SELECT report, load_id FROM tidemark.loads ORDER BY load_id')).toEqual([
        { report: 'events', load_id: 1 },
        { report: 'enquiries', load_id: 2 },
      ])
    }
  })

  it('is refused if a newer run of its report has begun', async () => {
    await using tide = await aTide()
    for (const _ of [1, 2]) await tide.sync('events')
    const newer = tide.warehouse.takeFence.bind(tide.warehouse)
    tide.warehouse.takeFence = async (ask) => {
      const fence = await newer(ask)
      await newer({ ...ask, holder: 'newer' })
      return fence
    }
    const [outcome] = await tide.attempt('events')
    expect(outcome?.error?.code).toBe('FENCED')
  })

  it('is in the books with its fence, as if it had been written from its start', { tags: 'long' }, async () => {
    await using tide = await aTide()
    await tide.sync('events')
    const [outcome] = await tide.sync('events')
    const fences = await tide.warehouse.rows('SELECT kind, epoch, holder FROM tidemark.fences')
    expect(fences).toEqual([{ kind: 'incremental', epoch: 2, holder: outcome?.runId }])
    const runs = await tide.warehouse.rows('SELECT run_id, state FROM tidemark.runs ORDER BY started_at')
    expect(runs.at(-1)).toEqual({ run_id: outcome?.runId, state: 'done' })
  })
})

describe('a run that loads more than once', () => {
  it('is shown as running from its first load on', { tags: 'long' }, async () => {
    const states: unknown[] = []
    const settings = { limits: { load_rows_max: 10 }, defaults: { page_size: 10 } }
    await using tide = await aTide({ settings })
    const load = tide.warehouse.load.bind(tide.warehouse)
    const look = 'SELECT string_agg(state) AS states FROM tidemark.runs'
    tide.warehouse.load = async (input) => {
      const result = await load(input)
      states.push((await tide.warehouse.rows<{ states: string }>(look))[0]?.states)
      return result
    }
    await tide.sync('events')
    expect(states.length).toBeGreaterThan(1)
    expect(states).toEqual([...states.slice(1).map(() => 'running'), 'done'])
  })
})
