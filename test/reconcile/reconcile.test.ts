/** Reconciles over real HTTP: what they repair, which deletions they infer, and what stops them. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import { WORLD_REPORTS, type WorldReport } from '../../src/sandbox/server.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import { differences } from '../../src/cli/certify/compare.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { aTideAnsweredBy, envelope } from '../sync/answering.ts'
import { deletionsOf, reconcile, SECOND_MS, settings } from './stories.ts'

const compared = (tide: Tide, report: WorldReport) =>
  differences(
    tide.warehouse,
    tide.sandbox.world,
    currencyOf(report) === undefined ? { report } : { report, currency: 'EUR' },
  )

const currencyOf = (report: WorldReport) => (reportOf(report).currency === undefined ? undefined : 'EUR')

/** Kinds of answers: a bare array, one for each currency, an envelope. Other reports are read like these. */
const KINDS: readonly WorldReport[] = ['events', 'budgets', 'enquiries']

describe.each(WORLD_REPORTS)('a reconcile of %s', (report) => {
  const options = KINDS.includes(report) ? {} : { tags: 'long' }
  const runId = randomUUID()
  let tide: Tide
  let quiet: Awaited<ReturnType<typeof reconcileReport>>

  beforeAll(async () => {
    tide = await aTide({ settings })
    await tide.sync(report)
    tide.clock.pass(SECOND_MS)
    quiet = await reconcileReport(tide.context, report, { runId, allowMassDelete: false })
  })
  afterAll(() => tide[Symbol.asyncDispose]())

  it('finds nothing where nothing is wrong', options, () => {
    expect(quiet.found).toMatchObject({ missed: 0, differed: 0, absent: 0, deleted: 0 })
    expect(quiet.found.rows).toBe(tide.sandbox.world.keys(report).length)
  })

  it('counts the rows that it compared, for its log and its metrics as for the books', options, async () => {
    expect(quiet.figures.rows).toBe(quiet.found.rows)
    const kept = await tide.warehouse.rows(`SELECT rows FROM tidemark.runs WHERE run_id = '${runId}'`)
    expect(kept).toEqual([{ rows: quiet.found.rows }])
  })

  it('says of each of its windows how many pages were read for it', options, async () => {
    const windows = await tide.warehouse.rows<{ pages: number }>(
      `SELECT pages FROM tidemark.windows JOIN tidemark.loads USING (load_id) WHERE run_id = '${runId}'`,
    )
    expect(windows.filter((window) => window.pages === 0)).toEqual([])
    const read = windows.reduce((sum, window) => sum + window.pages, 0)
    expect(read).toBeGreaterThan(1)
    expect(read).toBeLessThanOrEqual(quiet.pages)
  })

  it('repairs a row that changed without a sign, and one that was lost, and says so', { tags: 'long' }, async () => {
    const { world } = tide.sandbox
    const [edited, lost] = world.liveKeys(report) as [number, number]
    world.silentEdit(report, edited)
    const [key] = reportOf(report).key
    const tables = await tide.warehouse.rows<{ name: string }>(
      `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND (table_name = '${report}' OR starts_with(table_name, '${report}__'))`,
    )
    for (const { name } of tables) await tide.warehouse.rows(`DELETE FROM ${name} WHERE ${key} = ${lost}`)
    const found = await reconcile(tide, report)
    expect(found).toMatchObject({ missed: 1, differed: 1, absent: 0, deleted: 0 })
    expect(await compared(tide, report)).toEqual([])
    const [fresh] = await tide.warehouse.rows(
      `SELECT reconcile_missed AS missed, reconcile_differed AS differed FROM tidemark.freshness WHERE report = '${report}'`,
    )
    expect(fresh).toEqual({ missed: 1, differed: 1 })
  })
})

describe.each([
  ['enquiries', {}],
  ['automated_bookings', { tags: 'long' }],
] as const)('deletions of %s', (report, options) => {
  it('are marked when two reconciles in a row miss the row, and undone when it comes back', options, () =>
    deletionsOf(report),
  )
})

const lastOf = async (tide: Tide) => {
  const [told] = await tide.warehouse.rows<{ missed: number; type: string; at: Date; ended: Date }>(
    `SELECT f.reconcile_missed AS missed, typeof(f.reconcile_missed) AS type, f.last_reconcile AS at, k.ended
     FROM tidemark.freshness f, (SELECT max(ended_at) AS ended FROM tidemark.reconciles) k WHERE f.report = 'budgets'`,
  )
  return told
}

describe('the last reconcile in tidemark.freshness', () => {
  it('counts all currencies, however long each of them takes, and no reconcile before it', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide({ settings: { ...settings, currencies: ['EUR', 'USD'] } })
    await tide.sync('budgets')
    const lost = tide.sandbox.world.liveKeys('budgets')[0]
    for (const _ of [1, 2]) {
      await tide.warehouse.rows(`DELETE FROM budgets WHERE budget_id = ${lost}`)
      expect(await reconcile(tide, 'budgets')).toMatchObject({ missed: 2 })
    }
    expect(await lastOf(tide)).toMatchObject({ missed: 2, type: 'BIGINT' })
    await tide.warehouse.rows(
      `UPDATE tidemark.reconciles SET ended_at = ended_at - INTERVAL 5 MINUTES WHERE scope = 'EUR'`,
    )
    const told = await lastOf(tide)
    expect(told).toMatchObject({ missed: 2, at: told?.ended })
  })
})

describe('the brake', () => {
  it('stops a mass delete until an operator allows it', { tags: 'long' }, async () => {
    await using tide = await aTide({ settings })
    await tide.sync('merf_submissions')
    const { world } = tide.sandbox
    for (const key of world.liveKeys('merf_submissions').slice(0, 20)) world.softDelete('merf_submissions', key)
    await reconcile(tide, 'merf_submissions')
    world.silentEdit('merf_submissions', world.liveKeys('merf_submissions')[0] ?? 0)
    await expect(reconcile(tide, 'merf_submissions')).rejects.toMatchObject({ code: 'MASS_DELETE_STOPPED' })
    expect(await tide.warehouse.rows(`SELECT 1 FROM merf_submissions WHERE is_deleted`)).toEqual([])
    expect(await reconcile(tide, 'merf_submissions', true)).toMatchObject({ deleted: 20, differed: 1 })
    const written =
      "SELECT inserted, updated FROM tidemark.runs WHERE kind = 'reconcile' ORDER BY ended_at DESC LIMIT 1"
    expect(await tide.warehouse.rows(written)).toEqual([{ inserted: 0, updated: 0 }])
    expect(await compared(tide, 'merf_submissions')).toEqual([])
  })
})

describe('the brake on a small table', () => {
  it('lets a few deletions pass, and stops those that leave less than half of it', { tags: 'long' }, async () => {
    await using tide = await aTide({ sandbox: { rows: 8 }, settings })
    await tide.sync('merf_submissions')
    const { world } = tide.sandbox
    const [first, ...others] = world.liveKeys('merf_submissions') as [number, ...number[]]
    world.softDelete('merf_submissions', first)
    await reconcile(tide, 'merf_submissions')
    expect(await reconcile(tide, 'merf_submissions')).toMatchObject({ deleted: 1 })
    for (const key of others) world.softDelete('merf_submissions', key)
    await reconcile(tide, 'merf_submissions')
    await expect(reconcile(tide, 'merf_submissions')).rejects.toMatchObject({ code: 'MASS_DELETE_STOPPED' })
    expect(await tide.warehouse.rows(`SELECT 1 FROM merf_submissions WHERE is_deleted`)).toHaveLength(1)
  })
})

describe('a reconcile that was stopped', () => {
  it('goes on where it stopped and ends with the same result', { tags: 'long' }, async () => {
    await using tide = await aTide({
      sandbox: { rows: 200, itemsPerCollection: 1 },
      settings: { ...settings, limits: { load_rows_max: 20 } },
    })
    await tide.sync('events')
    const { world } = tide.sandbox
    const [edited] = world.liveKeys('events') as [number]
    world.silentEdit('events', edited)
    tide.sandbox.requests.clear()
    await tide.sync('events')
    tide.sandbox.setFaults(['slow:5'])
    const stop = new AbortController()
    let pages = 0
    const context = {
      ...tide.context,
      signal: stop.signal,
      onProgress: () => {
        pages += 1
        if (pages === 15) stop.abort()
      },
    }
    await expect(reconcileReport(context, 'events', { runId: randomUUID(), allowMassDelete: false })).rejects.toThrow()
    const [open] = await tide.warehouse.rows<{ reached: Date | null }>(
      'SELECT reached FROM tidemark.reconciles WHERE ended_at IS NULL',
    )
    expect(open?.reached).toBeInstanceOf(Date)
    tide.sandbox.setFaults([])
    tide.sandbox.requests.clear()
    const found = await reconcile(tide, 'events')
    expect(found.rows).toBe(world.keys('events').length)
    expect(found.absent).toBe(0)
    expect(await compared(tide, 'events')).toEqual([])
    const since = tide.sandbox.requests
      .list()
      .map((each) => (JSON.parse(each.body) as { modifiedSince: string }).modifiedSince)
    expect(since.some((each) => each.startsWith('2000-01-01'))).toBe(false)
  })
})

it.each(['2.0', '"2.0"'])('a row whose key comes as %s is the row of this number', async (sent) => {
  let key = '2'
  await using tide = await aTideAnsweredBy(() => envelope('{"enquiryId":1}', `{"enquiryId":${key}}`, '{"enquiryId":3}'))
  await tide.sync('enquiries')
  key = sent
  for (const _ of [1, 2]) expect(await reconcile(tide, 'enquiries')).toMatchObject({ rows: 3, absent: 0, deleted: 0 })
  expect(await tide.warehouse.rows('SELECT key FROM tidemark.rejected_rows')).toEqual([])
  expect(await tide.warehouse.rows('SELECT enquiry_id AS id FROM enquiries WHERE NOT is_deleted ORDER BY id')).toEqual([
    { id: 1 },
    { id: 2 },
    { id: 3 },
  ])
})
