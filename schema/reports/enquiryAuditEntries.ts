/** Audit entries of enquiries. Unlike other audit entries, they have their own path and no `entityType` (spec §4). */
import { dateTime, defineReport, integer, json, string } from '../report.ts'

export const enquiryAuditEntries = defineReport({
  name: 'enquiry_audit_entries',
  meaning: 'Audit trail of enquiries',
  path: '/v1/EnquiryReport/{enquiryId}/Audit',
  answer: 'envelope',
  key: ['enquiry_id', 'entry_number'],
  asked: [{ column: 'enquiry_id', type: 'integer', meaning: 'Identifier of the requested enquiry' }],
  fields: {
    timestamp: dateTime('When the action occurred'),
    userId: integer('User who performed the action'),
    action: string('Action performed, for example Created or Updated'),
    payload: json('Raw payload; included when `expand.payload` is true'),
  },
  window: { since: 'since', until: 'until', required: true },
  expand: { payload: 'fields', aggregates: 'fields' },
  perRecord: { follows: 'enquiries' },
})
