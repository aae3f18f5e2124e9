/** Automated bookings: created through automated channels. Each request names a currency (spec §2, §4). */
import { defineReport, integer, manyOf, string } from '../report.ts'

export const automatedBookings = defineReport({
  name: 'automated_bookings',
  meaning: 'Bookings created through automated channels',
  path: '/v1/AutomatedBookingReport/GetAutomatedBookings',
  answer: 'envelope',
  key: ['reservation_id', 'target_currency'],
  asked: [{ column: 'target_currency', type: 'string', meaning: 'Currency of the amounts in the request' }],
  currency: 'currencyCode',
  fields: {
    reservationId: integer('Unique reservation identifier'),
    bookerEmail: string('Email address of the booker'),
    bookerCompany: string('Company name of the booker'),
    status: integer('Current booking status identifier; the specification names no meanings of the numbers'),
  },
  window: { since: 'modifiedSince', until: 'modifiedUntil', required: false },
  created: { since: 'createdSince', until: 'createdUntil' },
  deletes: 'absence',
  expand: manyOf(
    'reservationDays',
    'reservationDayFoodDrinks',
    'reservationDayEquipments',
    'vatrates',
    'costCenters',
    'currencies',
    'approver',
    'transactions',
  ),
  filters: {
    status: 'integer[]',
    bookingTypes: 'integer[]',
    reservationId: 'integer',
    bookerEmail: 'string',
    bookerCompany: 'string',
    bookerName: 'string',
    startDate: 'date-time',
    endDate: 'date-time',
  },
})
