/** `tidemark reset` at the warehouse: all rows are read again, and rows that the service lacks are marked or gone. */
import { describe, expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { reportOf } from '../../schema/index.ts'
import { tableOf } from '../../schema/tables.ts'
import type { Observe } from '../../src/observe.ts'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { disagreeing, overlapping } from '../support/history.ts'
import { aTide, aTideWithoutCollections, type Tide } from '../support/tide.ts'
import { differencesButAbsence, differencesOf } from './stories.ts'

const SETTINGS = { currencies: ['EUR', 'USD'], defaults: { page_size: 10 } }

async function reset(tide: Tide, report: ReportName, empty = false): Promise<number> {
  tide.clock.pass(60_000)
  const now = tide.clock.now()
  return tide.warehouse.reset({ report, empty, now, serviceNow: now })
}

const count = async (tide: Tide, from: string): Promise<number> => {
  const [row] = await tide.warehouse.rows<{ n: number }>(`SELECT count(*) AS n FROM ${from}`)
  return row?.n ?? -1
}

const LOST = 4_000_000_001

/** Stores a row that the service lacks. */
async function forge(tide: Tide, report: WorldReport): Promise<void> {
  const [key] = tableOf(reportOf(report)).key
  await tide.warehouse.rows(`INSERT INTO ${report} SELECT * REPLACE (${LOST} AS ${key}) FROM (FROM ${report} LIMIT 1)`)
}

describe.each(['events', 'budgets', 'enquiries', 'automated_bookings'] as const)('a reset of %s', (report) => {
  const { name, key, children } = tableOf(reportOf(report))
  // A bare array, and an envelope for each currency; the other two are reset in the same way.
  const options = ['events', 'automated_bookings'].includes(report) ? {} : { tags: 'long' }
  const ofArrays = report === 'events' ? {} : { tags: 'long' }

  it(
    'keeps all rows until they were read again, repairs them, and then marks what the service lacks',
    options,
    async () => {
      await using tide = await aTide({ settings: SETTINGS })
      await tide.sync(report)
      await forge(tide, report)
      const live = await count(tide, `current.${name}`)
      // The fingerprints stay, so that no other run would repair these rows.
      for (const { name: child } of children) await tide.warehouse.rows(`UPDATE ${child} SET _payload = NULL`)
      await tide.warehouse.rows(`UPDATE ${name} SET _extra = '{"damaged":1}'`)
      await reset(tide, report)
      expect(await count(tide, `current.${name}`)).toBe(live)
      expect(
        await tide.warehouse.rows(`SELECT DISTINCT because FROM tidemark.coverage WHERE report = '${name}'`),
      ).toEqual([{ because: 'reset' }])
      await tide.sync(report)
      expect(
        await tide.warehouse.rows(
          `SELECT DISTINCT ${key[0]} AS key, _delete_evidence AS evidence FROM ${name} WHERE is_deleted AND ${key[0]} = ${LOST}`,
        ),
      ).toEqual([{ key: LOST, evidence: 'absence' }])
      expect(await differencesButAbsence(tide, report)).toEqual([])
      expect(
        await tide.warehouse.rows(
          `SELECT 1 FROM tidemark.coverage WHERE refill_until IS NOT NULL OR because IS NOT NULL`,
        ),
      ).toEqual([])
      const written = await tide.sync(report)
      expect(written[0]?.figures).toMatchObject({ inserted: 0, updated: 0, deleted: 0 })
    },
  )

  it(
    'with --empty deletes rows, children and books at once, and the next run reads all of them',
    ofArrays,
    async () => {
      await using tide = await aTide({ settings: SETTINGS })
      await tide.sync(report)
      await forge(tide, report)
      const rows = await count(tide, name)
      expect(await reset(tide, report, true)).toBe(rows)
      for (const table of [name, ...children.map((child) => child.name)]) expect(await count(tide, table)).toBe(0)
      for (const book of ['marks', 'windows', 'covered', 'coverage'])
        expect(await count(tide, `tidemark.${book} WHERE report = '${name}'`)).toBe(0)
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
    },
  )
})

it('a row that is edited while a reset reads its part is not marked, and its version is stored', async () => {
  let edit: (() => void) | undefined
  const observe: Observe = (subject, work) => {
    if (subject.what === 'request') edit?.()
    return work(() => undefined)
  }
  const settings = { defaults: { page_size: 10 } }
  await using tide = await aTideWithoutCollections({ settings, sandbox: { rows: 80 }, observe })
  await tide.sync('events')
  await reset(tide, 'events')
  const { world } = tide.sandbox
  const keys = world.liveKeys('events')
  const all = keys.length
  edit = () => {
    const key = keys.pop()
    if (key !== undefined) world.edit('events', key)
  }
  await tide.sync('events')
  expect(all - keys.length).toBeGreaterThan(10)
  expect(await count(tide, `events WHERE _delete_evidence = 'absence'`)).toBe(0)
  edit = undefined
  await tide.sync('events')
  expect(await differencesOf(tide, 'events')).toEqual([])
})

it('a reset whose runs are stopped at every tenth statement goes on, and is whole after one clean run', {
  tags: 'long',
}, async () => {
  let left = Infinity
  const onStatement = () => {
    left -= 1
    if (left === 0) throw new TypeError('the run is stopped here')
  }
  const settings = { defaults: { page_size: 10 }, limits: { load_rows_max: 10 } }
  await using tide = await aTide({ settings, onStatement })
  await tide.sync('events')
  await forge(tide, 'events')
  const held = () =>
    tide.warehouse.rows('SELECT * EXCLUDE (_row_hash, _load_id, _observed_at) FROM events ORDER BY ALL')
  const before = await held()
  for (let statements = 1; statements < 12; statements += 1) {
    left = statements
    await reset(tide, 'events', true).catch(() => undefined)
    left = Infinity
    expect(await held(), `a reset that is stopped at statement ${statements}`).toEqual(before)
  }
  await reset(tide, 'events')
  let done = false
  for (let statements = 10; !done; statements += 10) {
    left = statements
    const outcomes = await tide.attempt('events').catch(() => [])
    left = Infinity
    done = outcomes[0]?.state === 'done'
    if (!done) expect(await count(tide, `events WHERE event_id <> ${LOST}`)).toBe(before.length - 1)
  }
  expect(await differencesButAbsence(tide, 'events')).toEqual([])
  expect(await count(tide, `current.events WHERE event_id = ${LOST}`)).toBe(0)
})

it('keeps the versions of rows in schema history, with --empty too', async () => {
  await using tide = await aTide({ sandbox: { rows: 4 }, settings: { reports: { enquiries: { history: true } } } })
  const { clock, warehouse } = tide
  await warehouse.recordReportStates([
    { report: 'enquiries', enabled: true, offReason: undefined, history: { on: true, now: clock.now() } },
  ])
  await tide.sync('enquiries')
  const rows = await count(tide, 'enquiries')
  for (const empty of [false, true]) {
    await reset(tide, 'enquiries', empty)
    clock.pass(1_000)
    await tide.sync('enquiries')
    expect(await disagreeing(tide, 'enquiries')).toEqual([])
    expect(await overlapping(tide, 'enquiries')).toEqual([])
  }
  expect(await count(tide, 'history.enquiries')).toBe(3 * rows)
  expect(await differencesOf(tide, 'enquiries')).toEqual([])
})

it('reads each audit trail again, without a trail of records that have not changed since', async () => {
  await using tide = await aTideWithoutCollections({ settings: SETTINGS, sandbox: { rows: 12 } })
  await tide.sync('events', 'audit_entries')
  const entries = () => tide.warehouse.rows('SELECT * EXCLUDE (_load_id, _observed_at) FROM audit_entries ORDER BY ALL')
  const before = await entries()
  const trails = () => tide.sandbox.requests.list().filter(({ path }) => path.endsWith('/GetAuditReport')).length
  await tide.warehouse.rows('DELETE FROM audit_entries WHERE entry_number = 1')
  await reset(tide, 'audit_entries')
  await tide.sync('audit_entries')
  expect((await entries()).length).toBe(before.length)
  await reset(tide, 'audit_entries', true)
  expect(await entries()).toEqual([])
  await tide.sync('audit_entries')
  expect(await entries()).toEqual(before)
  await reset(tide, 'events')
  await tide.sync('events')
  const asked = trails()
  await tide.sync('audit_entries')
  expect(trails()).toBe(asked)
})

it('marks rows of a currency that is no longer configured', async () => {
  await using tide = await aTide({ sandbox: { rows: 4 }, settings: SETTINGS })
  await tide.sync('budgets')
  const context = { ...tide.context, settings: { ...tide.context.settings, currencies: ['EUR'] } }
  await reset(tide, 'budgets')
  await syncAll(context, ['budgets'])
  expect(await count(tide, `current.budgets WHERE target_currency <> 'EUR'`)).toBe(0)
  expect(await count(tide, `current.budgets WHERE target_currency = 'EUR'`)).toBeGreaterThan(0)
})

it('a run that began before a reset commits nothing after it', async () => {
  await using tide = await aTideWithoutCollections({ settings: SETTINGS })
  await tide.sync('enquiries')
  const fence = await tide.warehouse.takeFence({ report: 'enquiries', kind: 'incremental', holder: 'old' })
  await reset(tide, 'enquiries', true)
  await expect(
    tide.warehouse.recordCoverage(
      { report: 'enquiries', scope: '', fence },
      { settings: { start: tide.clock.now(), filters: {}, expand: [] }, refillUntil: undefined, because: [] },
    ),
  ).rejects.toMatchObject({ code: 'FENCED' })
})
