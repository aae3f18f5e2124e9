/** Audit entries. Each record needs its own request (spec §4). The configuration maps entity numbers to reports. */
import { dateTime, defineReport, integer, json, string } from '../report.ts'

export const auditEntries = defineReport({
  name: 'audit_entries',
  meaning: 'Audit trail of the configured records',
  path: '/v1/AuditReport/GetAuditReport',
  answer: 'envelope',
  key: ['entity_id', 'entity_record_id', 'entry_number'],
  asked: [
    { column: 'entity_id', type: 'integer', meaning: 'Number of the entity of the requested record' },
    { column: 'entity_record_id', type: 'integer', meaning: 'Identifier of the requested record' },
  ],
  fields: {
    timestamp: dateTime('When the action occurred'),
    userId: integer('User who performed the action'),
    entityType: string(
      'Type of entity changed (present in the general audit report; the enquiry audit lists only timestamp, userId, action)',
    ),
    action: string('Action performed, for example Created or Updated'),
    payload: json('Raw payload; included when `expand.payload` is true'),
  },
  window: { since: 'since', until: 'until', required: true },
  expand: { payload: 'fields', aggregates: 'fields' },
  perRecord: { follows: 'configured' },
})
