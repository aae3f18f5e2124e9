/**
 * Audit trails that were asked with another question (product contract §3): every record is asked again, from the
 * start.
 */
import { expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { type Instant, parseInstant } from '../../src/instant.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'

const PATHS: Partial<Record<ReportName, RegExp>> = {
  audit_entries: /\/GetAuditReport$/,
  enquiry_audit_entries: /\/Audit$/,
}

/** Another run of the same tide with a report configured otherwise; gives how many trails were asked for. */
async function syncAs(tide: Tide, report: ReportName, change: Record<string, unknown> = {}): Promise<number> {
  tide.sandbox.requests.clear()
  const reports = { ...tide.config.reports, [report]: { ...tide.config.reports[report], ...change } }
  const context = { ...tide.context, settings: { ...tide.context.settings, reports } }
  for (const { error } of await syncAll(context, [report])) if (error !== undefined) throw error
  return tide.sandbox.requests.list().filter(({ path }) => PATHS[report]?.test(path)).length
}

const payloads = async (tide: Tide, report: ReportName): Promise<number> => {
  const [row] = await tide.warehouse.rows<{ n: number }>(`SELECT count(payload) AS n FROM ${report}`)
  return row?.n ?? 0
}

const REPORTS = [
  ['audit_entries', 'events', '3:'],
  ['enquiry_audit_entries', 'enquiries', ''],
] as const

it.each(REPORTS)(
  '%s are asked for again, once, when another flag is switched on',
  { tags: 'long' },
  async (report, follows, scope) => {
    await using tide = await aTide({ sandbox: { rows: 30 } })
    await tide.sync(follows)
    const records = await syncAs(tide, report, { expand: [] })
    expect(records).toBeGreaterThan(0)
    expect(await payloads(tide, report)).toBe(0)
    const [before] = await tide.warehouse.rows(`SELECT count(*) AS n FROM ${report}`)
    expect(await syncAs(tide, report)).toBe(records)
    expect(await payloads(tide, report)).toBeGreaterThan(0)
    expect(await tide.warehouse.rows(`SELECT count(*) AS n FROM ${report}`)).toEqual([before])
    expect(await tide.warehouse.books.coverage({ report, scope })).toMatchObject({
      refillUntil: undefined,
      because: [],
    })
    expect(await syncAs(tide, report)).toBe(0)
  },
)

it('an earlier start brings the older entries of every record', { tags: 'long' }, async () => {
  await using tide = await aTide({ sandbox: { rows: 30 } })
  await tide.sync('events')
  const late = { start: parseInstant('2200-01-01T00:00:00Z') as Instant }
  const held = () => tide.warehouse.rows<{ n: number }>('SELECT count(*) AS n FROM audit_entries')
  const start = await tide.warehouse.rows<{ at: Instant }>(
    'SELECT epoch_us(quantile_disc(aggregate_record_modified, 0.5)) AS at FROM events',
  )
  const records = await syncAs(tide, 'audit_entries', { start: start[0]?.at ?? late.start })
  const [some] = await held()
  expect(await syncAs(tide, 'audit_entries')).toBe(records)
  const [all] = await held()
  expect(all?.n).toBeGreaterThan(some?.n ?? 0)
  expect(await syncAs(tide, 'audit_entries')).toBe(0)
})

it('a record that was new while the start was later has its older entries once the start is back', async () => {
  await using tide = await aTide({ sandbox: { rows: 8 } })
  await tide.sync('events')
  const oldest = () =>
    tide.warehouse.rows(
      'SELECT entity_record_id AS id, min(timestamp) AS at FROM audit_entries GROUP BY ALL ORDER BY id',
    )
  await syncAs(tide, 'audit_entries')
  const all = await oldest()
  await tide.warehouse.rows("DELETE FROM tidemark.marks WHERE report = 'audit_entries'")
  await tide.warehouse.rows(
    "DELETE FROM tidemark.followed WHERE report = 'audit_entries' AND scope <> (SELECT max(scope) FROM tidemark.followed)",
  )
  await tide.warehouse.rows('DELETE FROM audit_entries')
  await syncAs(tide, 'audit_entries', { start: parseInstant('2200-01-01T00:00:00Z') })
  expect(await oldest()).toEqual([])
  await syncAs(tide, 'audit_entries')
  expect(await oldest()).toEqual(all)
})

it('a run that is stopped goes on with the records that are left, the changed ones first', async () => {
  await using tide = await aTide({ sandbox: { rows: 60 } })
  await tide.sync('events')
  const records = await syncAs(tide, 'audit_entries', { expand: [] })
  const changed = tide.sandbox.world.liveKeys('events').slice(0, 3)
  for (const key of changed) tide.sandbox.world.edit('events', key)
  await tide.sync('events')
  tide.sandbox.requests.clear()
  const stop = new AbortController()
  let taken = 0
  const onProgress = () => {
    taken += 1
    if (taken === 20) stop.abort()
  }
  await syncAll({ ...tide.context, signal: stop.signal, onProgress }, ['audit_entries'])
  const asked = tide.sandbox.requests.list().filter(({ path }) => PATHS.audit_entries?.test(path))
  const first = asked.slice(0, 3).map(({ body }) => (JSON.parse(body) as { entityRecordId: number }).entityRecordId)
  expect(new Set(first)).toEqual(new Set(changed))
  expect(await tide.warehouse.books.coverage({ report: 'audit_entries', scope: '3:' })).toMatchObject({
    because: ['expand'],
  })
  expect(await syncAs(tide, 'audit_entries')).toBeLessThanOrEqual(records)
  const bare = `SELECT entity_record_id FROM audit_entries GROUP BY ALL HAVING count(payload) = 0`
  expect(await tide.warehouse.rows(bare)).toEqual([])
  // What was edited a moment ago is asked about until the settle time has passed.
  expect(await syncAs(tide, 'audit_entries')).toBeLessThanOrEqual(changed.length)
})

it('a record that may not be read keeps being owed, the others are done', { tags: 'long' }, async () => {
  await using tide = await aTide({ sandbox: { rows: 30 } })
  await tide.sync('enquiries')
  const report = 'enquiry_audit_entries'
  const records = await syncAs(tide, report, { expand: [] })
  // The service's clock has whole seconds: what was asked in the second of the change is asked once more.
  await tide.context.clock.sleep(1_050)
  tide.sandbox.setFaults([`403*1@${report}`])
  await tide.sync(report)
  expect(await tide.warehouse.rows('SELECT code FROM tidemark.skipped_records')).toEqual([{ code: 'REPORT_FORBIDDEN' }])
  tide.sandbox.setFaults([])
  expect(records).toBeGreaterThan(1)
  expect(await syncAs(tide, report)).toBe(0)
  expect(await tide.warehouse.books.coverage({ report, scope: '' })).toMatchObject({ because: ['expand'] })
  await tide.warehouse.resume([report])
  expect(await syncAs(tide, report)).toBe(1)
  expect(await syncAs(tide, report)).toBe(0)
})

it('records of an entity, or of a report, that was away meanwhile are asked for again when it is back', {
  tags: 'long',
}, async () => {
  await using tide = await aTide({ sandbox: { rows: 20 } })
  await tide.sync('events')
  const records = await syncAs(tide, 'audit_entries')
  await syncAs(tide, 'audit_entries', { entities: [{ entityId: 5, follows: 'events' }] })
  expect(await syncAs(tide, 'audit_entries')).toBe(records)
  expect(await syncAs(tide, 'audit_entries')).toBe(0)
  await syncAs(tide, 'audit_entries', { enabled: false })
  const [key] = tide.sandbox.world.liveKeys('events') as [number]
  const off = { ...tide.config.reports.audit_entries, enabled: false }
  const context = {
    ...tide.context,
    settings: { ...tide.context.settings, reports: { ...tide.config.reports, audit_entries: off } },
  }
  tide.sandbox.world.edit('events', key)
  await syncAll(context, ['events'])
  expect(await syncAs(tide, 'audit_entries')).toBe(records)
})
