/** The contents of the demo: its configuration, the changes to the service's rows, and the queries. */
import { ENTITY_IDS, type World, type WorldChange, type WorldReport } from '../../sandbox/server.ts'

export const SUBJECTS = `
  SELECT DISTINCT event_id FROM current.events JOIN current.events__meeting_rooms USING (event_id)
  ORDER BY event_id LIMIT 6`

export function makeChanges(world: World, eventKeys: readonly number[]): readonly WorldChange[] {
  const [renamed = 0, rearranged = 0, extended = 0, cancelled = 0] = eventKeys
  const oldest = (report: WorldReport) => world.liveKeys(report)[0] ?? 0
  return [
    world.edit('events', renamed),
    world.editChild('events', rearranged, 'meetingRooms'),
    world.addChild('events', extended, 'assignments'),
    world.softDelete('events', cancelled),
    world.insert('events'),
    world.edit('budgets', oldest('budgets')),
    world.softDelete('budgets', oldest('budgets')),
    world.edit('enquiries', oldest('enquiries')),
    world.insert('automated_bookings'),
    world.edit('office_reservations', oldest('office_reservations')),
    world.edit('merf_submissions', oldest('merf_submissions')),
  ]
}

export interface Question {
  readonly title: string
  readonly sql: string
}

export const questionsOf = (changedEvent: number): readonly Question[] => [
  {
    title: 'Which completed events earned the most from their meeting rooms, in euros?',
    sql: `SELECT e.event_id, e.name, e.start_date::DATE AS day, count(*) AS rooms,
  round(e.in_person_attendees / e.attendees, 2) AS share_on_site,
  format('{:,.2f} EUR', sum(r.price)::DOUBLE) AS earned
FROM current.events e JOIN current.events__meeting_rooms r USING (event_id)
WHERE e.status = 'Completed' AND r.currency = 'EUR'
GROUP BY ALL ORDER BY sum(r.price) DESC LIMIT 5`,
  },
  {
    title: 'Which events were deleted, and how is it known?',
    sql: `SELECT event_id, name, _delete_evidence AS evidence, _deleted_seen_at AS seen_at
FROM main.events WHERE is_deleted ORDER BY _deleted_seen_at DESC, event_id LIMIT 5`,
  },
  {
    title: `What happened to event ${changedEvent}?`,
    sql: `SELECT timestamp, action, user_id, payload
FROM main.audit_entries WHERE entity_id = ${ENTITY_IDS.events} AND entity_record_id = ${changedEvent}
ORDER BY entry_number DESC LIMIT 5`,
  },
]

export const configText = (url: string, clientId: string): string => `# Written by "tidemark demo".
service:
  base_url: ${url}
  client_id: ${clientId}
warehouse: ./warehouse.duckdb
published: ./published.duckdb
console: { port: 0 }
currencies: [EUR]
defaults: { every: 15s }
reports:
  audit_entries: { entities: [{ entity_id: ${ENTITY_IDS.events}, follows: events }] }
`
