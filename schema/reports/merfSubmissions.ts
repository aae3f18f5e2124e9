/** MERF submissions: submitted instances of event forms, each linked to an event (spec §1, §2). */
import { dateTime, defineReport, integer, manyOf } from '../report.ts'

export const merfSubmissions = defineReport({
  name: 'merf_submissions',
  meaning: 'MERF (event form) submissions',
  path: '/v1/MerfReport/GetMerfReport',
  answer: 'envelope',
  key: ['submission_id'],
  fields: {
    submissionId: integer('Unique submission identifier'),
    formId: integer('Submitted form'),
    eventId: integer('Linked event'),
    submittedAt: dateTime('When the submission was created'),
  },
  window: { since: 'modifiedSince', until: 'modifiedUntil', required: false },
  created: { since: 'createdSince', until: 'createdUntil' },
  deletes: 'absence',
  expand: manyOf('person', 'fieldResponses', 'attachments'),
  filters: { companyId: 'integer', affiliateId: 'integer', formId: 'integer', eventId: 'integer' },
})
