/** Identifiers are 64-bit integers: beyond 2^53 they are asked about digit by digit, never through a binary double. */
import { expect, it } from 'vitest'
import { aTideAnsweredBy, type Asked, envelope } from './answering.ts'

const LONG = '9007199254740993'

const isAudit = ({ path }: Asked): boolean => path.includes('Audit')
const auditPath = (id: string): string => `/reportingapi/v1/EnquiryReport/${id}/Audit`
const MODIFIED = '2026-01-01T10:00:00Z'
const isInWindow = ({ body }: Asked): boolean =>
  Date.parse(String(body['modifiedSince'])) <= Date.parse(MODIFIED) &&
  Date.parse(MODIFIED) <= Date.parse(String(body['modifiedUntil']))
const first = ({ body }: Asked): boolean => body['pageNumber'] === 1

it('an enquiry beyond 2^53 is asked about by its own number, beside the others, and once', {
  tags: 'long',
}, async () => {
  await using tide = await aTideAnsweredBy((asked) =>
    isAudit(asked)
      ? envelope(`{"timestamp":"2026-01-01T10:00:00Z","userId":1,"action":"${asked.path}"}`)
      : envelope(...(first(asked) ? [`{"enquiryId":${LONG}}`, '{"enquiryId":5}'] : [])),
  )
  await tide.sync('enquiries', 'enquiry_audit_entries')
  expect(
    await tide.warehouse.rows(
      'SELECT enquiry_id::VARCHAR AS id, action FROM enquiry_audit_entries ORDER BY enquiry_id',
    ),
  ).toEqual([
    { id: '5', action: auditPath('5') },
    { id: LONG, action: auditPath(LONG) },
  ])
  await tide.sync('enquiry_audit_entries')
  expect(tide.asked.filter(isAudit)).toHaveLength(2)
})

it('an event beyond 2^53 is asked about by its own number, and what is read again replaces its entries', {
  tags: 'long',
}, async () => {
  const events = [LONG, '5'].map(
    (id) => `{"eventId":${id},"name":"x","recordModified":"${MODIFIED}","isDeleted":false}`,
  )
  const entry = '{"timestamp":"2026-01-01T10:00:00Z","userId":1,"action":"Updated"}'
  await using tide = await aTideAnsweredBy(
    (asked) =>
      isAudit(asked) ? envelope(entry, entry) : `[${first(asked) && isInWindow(asked) ? events.join(',') : ''}]`,
    { reports: { audit_entries: { entities: [{ entity_id: 3, follows: 'events' }] } } },
  )
  await tide.sync('events', 'audit_entries')
  await tide.warehouse.rows('UPDATE tidemark.followed SET asked_at = NULL')
  await tide.sync('audit_entries')
  const sent = tide.asked.filter(isAudit).map((asked) => /"entityRecordId":(\d+)/.exec(asked.sent)?.[1] ?? '')
  expect(sent.toSorted((a, b) => Number(a) - Number(b))).toEqual(['5', '5', LONG, LONG])
  const held =
    'SELECT entity_record_id::VARCHAR AS id, count(*) AS n, max(entry_number) AS last FROM audit_entries GROUP BY ALL'
  expect(await tide.warehouse.rows(`${held} ORDER BY 1`)).toEqual([
    { id: '5', n: 2, last: 2 },
    { id: LONG, n: 2, last: 2 },
  ])
})

it('an entity beyond 2^53 is sent digit by digit, and its entries are stored under it', async () => {
  const event = `{"eventId":5,"name":"x","recordModified":"${MODIFIED}","isDeleted":false}`
  const entry = '{"timestamp":"2026-01-01T10:00:00Z","userId":1,"action":"Updated"}'
  await using tide = await aTideAnsweredBy(
    (asked) => (isAudit(asked) ? envelope(entry) : `[${first(asked) && isInWindow(asked) ? event : ''}]`),
    // A configuration file with the digits is read as text (yamlFile.ts).
    { reports: { audit_entries: { entities: [{ entity_id: LONG, follows: 'events' }] } } },
  )
  await tide.sync('events', 'audit_entries')
  expect(tide.asked.find(isAudit)?.sent).toContain(`"entityId":${LONG},"entityRecordId":5`)
  expect(await tide.warehouse.rows('SELECT entity_id::VARCHAR AS id FROM audit_entries')).toEqual([{ id: LONG }])
})
