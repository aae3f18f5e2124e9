/**
 * The tables of the specification (§2, §4), written a second time, so that a slip in the sandbox's own lists shows. What
 * the sandbox serves beyond the specification is taken from its registry: tests cover such a report without a list.
 */
import { ENDPOINTS, type ReportName, type WorldReport } from '../../src/sandbox/server.ts'
import { DEFINITIONS } from '../../src/sandbox/reports/index.ts'

/** The reports whose requests have a fixed path: all but the enquiry audit. */
export type Report = Exclude<ReportName, 'enquiry_audit_entries'>
type Body = Record<string, unknown>

const served = ENDPOINTS.filter(({ report }) => report !== 'enquiry_audit_entries')
type Served = (typeof served)[number]

/** One value per report: the specification's, or what the registry lists. */
const perReport = <T>(listed: (endpoint: Served) => T, specified: Readonly<Record<string, T>>): Record<Report, T> =>
  Object.fromEntries(served.map((each) => [each.report, specified[each.report] ?? listed(each)])) as Record<Report, T>

const namesOf = ({ parameters }: Served, wanted: string): string[] =>
  Object.keys(parameters).filter((name) => parameters[name] === wanted)

export const PATHS = perReport(({ path }) => path, {
  events: '/v1/EventReport/GetEventsReport',
  budgets: '/v1/BudgetReport/GetBudgetsReport',
  enquiries: '/v1/EnquiryReport/GetEnquiriesReport',
  automated_bookings: '/v1/AutomatedBookingReport/GetAutomatedBookings',
  office_reservations: '/v1/OfficeReport/GetOfficeReservations',
  merf_submissions: '/v1/MerfReport/GetMerfReport',
  audit_entries: '/v1/AuditReport/GetAuditReport',
})

/** The smallest body that each report accepts. */
export const LEAST = perReport<Body>(
  ({ required }) => Object.fromEntries(required.map((name) => [name, name.endsWith('Code') ? 'EUR' : '2000-01-01'])),
  {
    events: { modifiedSince: '2000-01-01T00:00:00Z' },
    budgets: { modifiedSince: '2000-01-01T00:00:00Z', targetCurrencyCode: 'EUR' },
    enquiries: {},
    automated_bookings: { currencyCode: 'EUR' },
    office_reservations: {},
    merf_submissions: {},
    audit_entries: { entityId: 3, entityRecordId: 100_001, since: '2000-01-01T00:00:00Z' },
  },
)

export const KEYS: Readonly<Record<WorldReport, string>> = {
  ...(Object.fromEntries(Object.entries(DEFINITIONS).map(([name, { key }]) => [name, key])) as Record<
    WorldReport,
    string
  >),
  events: 'eventId',
  budgets: 'budgetId',
  enquiries: 'enquiryId',
  automated_bookings: 'reservationId',
  office_reservations: 'officeReservationId',
  merf_submissions: 'submissionId',
}

/** The scopes: two from the specification, the others as docs/SANDBOX.md lists them. */
export const SCOPES_OF = perReport(({ scope }) => scope, {
  events: 'event.read',
  budgets: 'budget.read',
  enquiries: 'enquiries.read',
  automated_bookings: 'automatedbookings.read',
  office_reservations: 'officereservations.read',
  merf_submissions: 'merf.read',
  audit_entries: 'audit.read',
})

/** Pairs of bounds, the lower one first. */
export const DATES = perReport((each) => namesOf(each, 'date-time'), {
  events: ['modifiedSince', 'modifiedUntil'],
  budgets: ['modifiedSince', 'modifiedUntil'],
  enquiries: ['startDate', 'endDate', 'createdSince', 'createdUntil', 'modifiedSince', 'modifiedUntil'],
  automated_bookings: ['startDate', 'endDate', 'createdSince', 'createdUntil', 'modifiedSince', 'modifiedUntil'],
  office_reservations: ['startDate', 'endDate', 'createdSince', 'createdUntil', 'modifiedSince', 'modifiedUntil'],
  merf_submissions: ['modifiedSince', 'modifiedUntil', 'createdSince', 'createdUntil'],
  audit_entries: ['since', 'until'],
})
export const INTEGERS = perReport((each) => namesOf(each, 'integer'), {
  events: ['pageNumber', 'pageSize', 'companyId', 'affiliateGroupId', 'eventId'],
  budgets: ['companyId', 'affiliateGroupId', 'eventId', 'pageNumber', 'pageSize'],
  enquiries: ['pageNumber', 'pageSize', 'enquiryId', 'companyId', 'affiliateGroupId'],
  automated_bookings: ['pageNumber', 'pageSize', 'reservationId'],
  office_reservations: ['pageNumber', 'pageSize', 'officeReservationId'],
  merf_submissions: ['pageNumber', 'pageSize', 'companyId', 'affiliateId', 'formId', 'eventId'],
  audit_entries: ['entityId', 'entityRecordId', 'pageNumber', 'pageSize'],
})
/** Values of a wrong type for the parameters that are neither dates nor integers. */
export const OTHERS = perReport<Body>(() => ({}), {
  events: { includeDeleted: 'yes' },
  budgets: { includeDeleted: 1, onlyDefaultBudget: 'true', targetCurrencyCode: 978 },
  enquiries: { status: 3, bookerEmail: 5, bookerCompany: {}, bookerName: [] },
  automated_bookings: {
    status: ['1'],
    bookingTypes: 1,
    currencyCode: true,
    bookerEmail: 5,
    bookerCompany: 6,
    bookerName: 7,
  },
  office_reservations: { status: [1.5], bookingTypes: '1', bookerEmail: 5, bookerCompany: 6, bookerName: 7 },
  merf_submissions: {},
  audit_entries: {},
})
/** The flags of `expand`, apart by blanks. */
export const FLAGS = perReport(({ flags }) => flags.join(' '), {
  events:
    'meetingRooms accommodations commissions entityLinks permissions operationsRecord assignments cancellationRecord extendedProperties',
  budgets: 'costItems taxes currencies',
  enquiries: 'enquiryVenues enquiryDay bedrooms customQuestions customFields approver addressExtra taxes',
  automated_bookings:
    'reservationDays reservationDayFoodDrinks reservationDayEquipments vatrates costCenters currencies approver transactions',
  office_reservations: 'reservationDays userDetails customData attendees benchmarkData extraItems',
  merf_submissions: 'person fieldResponses attachments',
  audit_entries: 'payload aggregates',
})

/** The documented fields, and their types as JSON has them. */
export const FIELDS = perReport<Record<string, string>>(() => ({}), {
  events: {
    eventId: 'number',
    name: 'string',
    startDate: 'string',
    endDate: 'string',
    status: 'string',
    formType: 'string',
    location: 'string',
    attendees: 'number',
    inPersonAttendees: 'number',
    town: 'string',
    paymentMethod: 'string',
    companyId: 'number',
    externalUrl: 'string',
    recordCreated: 'string',
    recordModified: 'string',
    aggregateRecordModified: 'string',
    isDeleted: 'boolean',
  },
  budgets: {
    budgetId: 'number',
    budgetName: 'string',
    modifiedAt: 'string',
    totalAmount: 'number',
    currencyCode: 'string',
  },
  enquiries: { enquiryId: 'number', bookerEmail: 'string', bookerCompany: 'string', status: 'number' },
  automated_bookings: { reservationId: 'number', bookerEmail: 'string', bookerCompany: 'string', status: 'number' },
  office_reservations: {
    officeReservationId: 'number',
    bookerEmail: 'string',
    bookerCompany: 'string',
    status: 'number',
  },
  merf_submissions: { submissionId: 'number', formId: 'number', eventId: 'number', submittedAt: 'string' },
})

/** Collections that are objects; all others are arrays. */
export const OBJECTS = [
  'commission',
  'operationsRecord',
  'cancellationRecord',
  'approver',
  'addressExtra',
  'userDetails',
  'benchmarkData',
  'person',
]
