/** Enquiries. The report is paginated. Rows have no modification time. Deleted rows are not returned (spec §2, §4). */
import { defineReport, integer, manyOf, string } from '../report.ts'

export const enquiries = defineReport({
  name: 'enquiries',
  meaning: 'Enquiries',
  path: '/v1/EnquiryReport/GetEnquiriesReport',
  answer: 'envelope',
  key: ['enquiry_id'],
  fields: {
    enquiryId: integer('Unique enquiry identifier'),
    bookerEmail: string('Email address of the booker'),
    bookerCompany: string('Company name of the booker'),
    status: integer(
      'Current enquiry status identifier (same value set as the `status` request filter); the specification names no meanings of the numbers',
    ),
  },
  window: { since: 'modifiedSince', until: 'modifiedUntil', required: false },
  created: { since: 'createdSince', until: 'createdUntil' },
  deletes: 'absence',
  expand: manyOf(
    'enquiryVenues',
    'enquiryDay',
    'bedrooms',
    'customQuestions',
    'customFields',
    'approver',
    'addressExtra',
    'taxes',
  ),
  filters: {
    status: 'integer[]',
    enquiryId: 'integer',
    bookerEmail: 'string',
    bookerCompany: 'string',
    bookerName: 'string',
    companyId: 'integer',
    affiliateGroupId: 'integer',
    startDate: 'date-time',
    endDate: 'date-time',
  },
})
