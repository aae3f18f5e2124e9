/**
 * Audit trails (product contract §3): record by record, only about records that changed, one refused record costs
 * itself.
 */
import { expect, it } from 'vitest'
import { ENTITY_IDS } from '../../src/sandbox/server.ts'
import { openClient } from '../../src/client/reporting.ts'
import { systemClock } from '../../src/clock.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { MINUTE_MS, plusMs } from '../../src/instant.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'
import { type Asked, aTideAnsweredBy, envelope } from './answering.ts'
import { failureOf } from './stories.ts'

const AUDIT_PATH = '/reportingapi/v1/AuditReport/GetAuditReport'

async function heldOf(tide: Tide): Promise<[number, number, number][]> {
  const rows = await tide.warehouse.rows<{ key: number; n: number; last: number }>(
    'SELECT entity_record_id AS key, count(*) AS n, max(entry_number) AS last FROM audit_entries GROUP BY 1 ORDER BY 1',
  )
  return rows.map(({ key, n, last }) => [key, n, last])
}

const sentOf = (tide: Tide): [number, number, number][] =>
  tide.sandbox.world
    .keys('events')
    .map((key) => {
      const { length } = tide.sandbox.world.auditEntries(ENTITY_IDS.events, key)
      return [key, length, length] as [number, number, number]
    })
    .toSorted(([a], [b]) => a - b)

it('fifteen hundred trails cost one request each, and the next run asks only about what changed', {
  tags: 'long',
}, async () => {
  const settings = {
    currencies: ['EUR'],
    reports: { audit_entries: { entities: [{ entity_id: 3, follows: 'events' }] } },
  }
  await using tide = await aTide({ sandbox: { rows: 1_500, collections: false }, settings })
  await tide.sync('events')
  await tide.sync('audit_entries')
  expect(tide.sandbox.requests.count(AUDIT_PATH)).toBe(1_500)
  expect(await heldOf(tide)).toEqual(sentOf(tide))
  const { world, requests } = tide.sandbox
  const changed = world.liveKeys('events').slice(0, 7)
  for (const key of changed) world.editChild('events', key)
  requests.clear()
  await tide.sync('events', 'audit_entries')
  const asked = requests.list().filter(({ path }) => path === AUDIT_PATH)
  const records = asked.map(({ body }) => (JSON.parse(body) as { entityRecordId: number }).entityRecordId)
  expect(new Set(records)).toEqual(new Set(changed))
  expect(records).toHaveLength(changed.length)
  expect(await heldOf(tide)).toEqual(sentOf(tide))
})

/** Runs the report on a clock that is ahead. */
const syncLater = (tide: Tide, minutes: number) =>
  syncAll({ ...tide.context, clock: { ...systemClock, now: () => plusMs(systemClock.now(), minutes * MINUTE_MS) } }, [
    'enquiry_audit_entries',
  ])

const skippedOf = (tide: Tide) =>
  tide.warehouse.rows(`SELECT skipped_records FROM tidemark.freshness WHERE report = 'enquiry_audit_entries'`)

/** Enquiries, and a trail of one entry for each; those that `refuses` names are answered with what it gives. */
const trailsBut =
  (enquiries: number, refuses: (id: number) => string | number | undefined) =>
  ({ path }: Asked): string | number => {
    const id = Number(/(\d+)\/Audit$/.exec(path)?.[1])
    if (Number.isNaN(id)) return envelope(...Array.from({ length: enquiries }, (_, n) => `{"enquiryId":${n + 1}}`))
    return refuses(id) ?? envelope(`{"timestamp":"2026-01-01T00:00:00Z","userId":${id},"action":"Created"}`)
  }

const CUT = '{"items":[],"pageNumber":1,"pageSize":500,"totalCount":6'

it.each([
  ['403', 403, 'REPORT_FORBIDDEN'],
  ['404', 404, 'STATUS_UNEXPECTED'],
  ['400', 400, 'REQUEST_INVALID'],
  ['a cut answer', CUT, 'ANSWER_MALFORMED'],
] as const)(
  'one enquiry whose audit is answered with %s is skipped, named, and asked again',
  { tags: 'long' },
  async (_, given, code) => {
    let isMended = false
    await using tide = await aTideAnsweredBy(trailsBut(5, (id) => (id === 1 && !isMended ? given : undefined)))
    await tide.sync('enquiries')
    const [outcome] = await tide.sync('enquiry_audit_entries')
    expect(outcome?.state).toBe('done')
    const held = () => tide.warehouse.rows('SELECT enquiry_id AS id FROM enquiry_audit_entries ORDER BY 1')
    expect(await held()).toEqual([{ id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }])
    expect(await skippedOf(tide)).toEqual([{ skipped_records: `1 (${code})` }])
    isMended = true
    tide.asked.length = 0
    await tide.sync('enquiry_audit_entries')
    expect(tide.asked, 'it is not time yet').toEqual([])
    await syncLater(tide, 6)
    expect(tide.asked.map(({ path }) => path)).toEqual(['/reportingapi/v1/EnquiryReport/1/Audit'])
    expect(await held()).toHaveLength(5)
    expect(await skippedOf(tide)).toEqual([{ skipped_records: null }])
  },
)

it('a record that is refused each time is asked ever more rarely, and beside it one that was read before', async () => {
  await using tide = await aTide({ sandbox: { rows: 8, faults: ['record-403@enquiry_audit_entries:20003'] } })
  await tide.sync('enquiries', 'enquiry_audit_entries')
  const times: number[] = []
  for (let minutes = 1; minutes <= 120; minutes += 3) {
    tide.clock.pass((minutes === 1 ? 1 : 3) * MINUTE_MS)
    tide.sandbox.requests.clear()
    const [outcome] = await tide.sync('enquiry_audit_entries')
    expect(outcome?.state).toBe('done')
    const asked = tide.sandbox.requests.list().filter(({ path }) => path.endsWith('/Audit'))
    if (asked.some(({ path, status }) => path.endsWith('/20003/Audit') && status === 403)) times.push(minutes)
    expect(asked.length).toBeLessThanOrEqual(2)
  }
  expect(times).toEqual([7, 19, 40, 82])
  expect(await skippedOf(tide)).toEqual([{ skipped_records: '20003 (REPORT_FORBIDDEN)' }])
})

it('the record of a run counts each entry once, also when a load came before the end of the run', async () => {
  await using tide = await aTide({ sandbox: { rows: 8, faults: ['record-403@enquiry_audit_entries:20003'] } })
  await tide.sync('enquiries', 'enquiry_audit_entries')
  const [run] = await tide.warehouse.rows<{ inserted: number; entries: number }>(`
    SELECT inserted, (SELECT count(*) FROM enquiry_audit_entries) AS entries
    FROM tidemark.runs WHERE report = 'enquiry_audit_entries'`)
  expect(run?.entries).toBeGreaterThan(0)
  expect(run?.inserted).toBe(run?.entries)
})

it('a trail that is forbidden for every record pauses the report after few requests', { tags: 'long' }, async () => {
  let isForbidden = false
  await using tide = await aTideAnsweredBy(trailsBut(400, () => (isForbidden ? 403 : undefined)))
  await tide.sync('enquiries', 'enquiry_audit_entries')
  isForbidden = true
  await tide.warehouse.rows(`UPDATE tidemark.followed SET ask_after = now() + INTERVAL 1 HOUR`)
  tide.asked.length = 0
  expect(failureOf(await tide.attempt('enquiry_audit_entries'), 'enquiry_audit_entries').code).toBe('REPORT_FORBIDDEN')
  expect(tide.asked.length).toBeLessThan(40)
  tide.asked.length = 0
  const [paused] = await tide.attempt('enquiry_audit_entries')
  expect([paused?.state, tide.asked.length]).toEqual(['paused', 0])
  isForbidden = false
  await tide.warehouse.resume(['enquiry_audit_entries'])
  await tide.sync('enquiry_audit_entries')
  expect(await skippedOf(tide)).toEqual([{ skipped_records: null }])
})

it('a question that the service refuses for every record ends soon', async () => {
  await using tide = await aTideAnsweredBy(trailsBut(400, () => 400))
  await tide.sync('enquiries')
  tide.asked.length = 0
  expect(failureOf(await tide.attempt('enquiry_audit_entries'), 'enquiry_audit_entries').code).toBe('REQUEST_INVALID')
  expect(tide.asked.length).toBeLessThan(120)
})

it('a report that is forbidden as a whole is asked once, and the others go on', { tags: 'long' }, async () => {
  const clients = [
    {
      clientId: 'demo',
      clientSecret: 'demo-secret',
      scopes: ['event.read', 'enquiries.read', 'merf.read'],
      forbidden: ['merf_submissions'] as const,
    },
  ]
  await using tide = await aTide({ sandbox: { rows: 12, clients } })
  await using client = openClient({ ...tide.config.service }, { clock: systemClock })
  const outcomes = await syncAll({ ...tide.context, client }, ['events', 'merf_submissions', 'enquiries'])
  expect(outcomes.map(({ state }) => state)).toEqual(['done', 'failed', 'done'])
  expect(failureOf(outcomes, 'merf_submissions').code).toBe('REPORT_FORBIDDEN')
  expect(tide.sandbox.requests.list().filter(({ status }) => status === 403)).toHaveLength(1)
})
