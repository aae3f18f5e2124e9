/** Office reservations. The report is paginated, and its rows have no modification time (spec §2, §4). */
import { defineReport, integer, manyOf, string } from '../report.ts'

export const officeReservations = defineReport({
  name: 'office_reservations',
  meaning: 'Office reservations',
  path: '/v1/OfficeReport/GetOfficeReservations',
  answer: 'envelope',
  key: ['office_reservation_id'],
  fields: {
    officeReservationId: integer('Unique office reservation identifier'),
    bookerEmail: string('Email address of the booker'),
    bookerCompany: string('Company name of the booker'),
    status: integer('Current reservation status identifier; the specification names no meanings of the numbers'),
  },
  window: { since: 'modifiedSince', until: 'modifiedUntil', required: false },
  created: { since: 'createdSince', until: 'createdUntil' },
  deletes: 'absence',
  expand: manyOf('reservationDays', 'userDetails', 'customData', 'attendees', 'benchmarkData', 'extraItems'),
  filters: {
    status: 'integer[]',
    bookingTypes: 'integer[]',
    officeReservationId: 'integer',
    bookerEmail: 'string',
    bookerCompany: 'string',
    bookerName: 'string',
    startDate: 'date-time',
    endDate: 'date-time',
  },
})
