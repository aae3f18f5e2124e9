/**
 * Audit trails (product contract §3): record by record, only about records that changed, one refused record costs
 * itself.
 */
import { expect, it } from 'vitest'
import { ENTITY_IDS } from '../../src/sandbox/server.ts'
import { openClient } from '../../src/client/reporting.ts'
import { systemClock } from '../../src/clock.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { aTide, type Tide } from '../support/tide.ts'
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

it('fifteen hundred trails cost one request each, and the next run asks only about what changed', async () => {
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

it('one enquiry whose audit is forbidden does not stop the others, is named as missing, and comes once it is allowed', async () => {
  await using tide = await aTide({ sandbox: { rows: 40 } })
  await tide.sync('enquiries')
  tide.sandbox.setFaults(['403*1@enquiry_audit_entries'])
  const failed = failureOf(await tide.attempt('enquiry_audit_entries'), 'enquiry_audit_entries')
  expect(failed.code).toBe('REPORT_FORBIDDEN')
  expect(failed.message).toMatch(/403 for 1 record/)
  expect(failed.cure).toMatch(/owner/)
  const held = () =>
    tide.warehouse.rows<{ n: number }>('SELECT count(DISTINCT enquiry_id) AS n FROM enquiry_audit_entries')
  const { world, requests } = tide.sandbox
  const all = world.liveKeys('enquiries').length
  expect(await held()).toEqual([{ n: all - 1 }])
  tide.sandbox.setFaults([])
  requests.clear()
  await tide.sync('enquiry_audit_entries')
  expect(requests.list().filter(({ path }) => path.endsWith('/Audit'))).toHaveLength(1)
  expect(await held()).toEqual([{ n: all }])
})

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
  ['400', 400, 'REQUEST_INVALID', /is not known/],
  ['404', 404, 'STATUS_UNEXPECTED', /404/],
  ['a cut answer', CUT, 'ANSWER_MALFORMED', /was cut/],
] as const)('one enquiry whose audit is answered with %s does not stop the others', async (_, given, code, message) => {
  let isMended = false
  await using tide = await aTideAnsweredBy(trailsBut(5, (id) => (id === 1 && !isMended ? given : undefined)))
  await tide.sync('enquiries')
  const failed = failureOf(await tide.attempt('enquiry_audit_entries'), 'enquiry_audit_entries')
  expect(failed).toMatchObject({ code, data: { records: 1 } })
  expect(failed.message).toMatch(/1 record could not be read; the others are here/)
  expect(failed.message).toMatch(message)
  const held = () => tide.warehouse.rows('SELECT enquiry_id AS id FROM enquiry_audit_entries ORDER BY 1')
  expect(await held()).toEqual([{ id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }])
  isMended = true
  tide.asked.length = 0
  await tide.sync('enquiry_audit_entries')
  expect(tide.asked.map(({ path }) => path)).toEqual(['/reportingapi/v1/EnquiryReport/1/Audit'])
  expect(await held()).toHaveLength(5)
})

it('a question that the service refuses for every record ends soon', async () => {
  await using tide = await aTideAnsweredBy(trailsBut(400, () => 400))
  await tide.sync('enquiries')
  tide.asked.length = 0
  expect(failureOf(await tide.attempt('enquiry_audit_entries'), 'enquiry_audit_entries').code).toBe('REQUEST_INVALID')
  expect(tide.asked.length).toBeLessThan(120)
})

it('a report that is forbidden as a whole is asked once, and the others go on', async () => {
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
