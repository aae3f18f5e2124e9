/**
 * What the specification says about each endpoint (§4), and what this implementation adds where it is silent: scopes
 * beyond the two it names, and the entity numbers of the audit trail.
 */

export const WORLD_REPORTS = [
  'events',
  'budgets',
  'enquiries',
  'automated_bookings',
  'office_reservations',
  'merf_submissions',
] as const

/** A report that has rows of its own; the audit reports are about these rows. */
export type WorldReport = (typeof WORLD_REPORTS)[number]

export const REPORTS = [...WORLD_REPORTS, 'audit_entries', 'enquiry_audit_entries'] as const
export type ReportName = (typeof REPORTS)[number]

export type ParameterType = 'integer' | 'integer[]' | 'string' | 'date-time' | 'boolean'

export interface Endpoint {
  readonly report: ReportName
  /** Below `{base_url}/reportingapi`; `{enquiryId}` stands for the number in the path. */
  readonly path: string
  readonly scope: string
  /** False: the response is a bare array. */
  readonly envelope: boolean
  readonly parameters: Readonly<Record<string, ParameterType>>
  readonly required: readonly string[]
  /** Booleans of the `expand` object. */
  readonly flags: readonly string[]
}

const paging = { pageNumber: 'integer', pageSize: 'integer' } as const
const modified = { modifiedSince: 'date-time', modifiedUntil: 'date-time' } as const
const created = { createdSince: 'date-time', createdUntil: 'date-time' } as const
const stay = { startDate: 'date-time', endDate: 'date-time' } as const
const booker = { bookerEmail: 'string', bookerCompany: 'string', bookerName: 'string' } as const
const period = { since: 'date-time', until: 'date-time' } as const

const words = (text: string): readonly string[] => text.split(' ')

export const ENDPOINTS: readonly Endpoint[] = [
  {
    report: 'events',
    path: '/v1/EventReport/GetEventsReport',
    scope: 'event.read',
    envelope: false,
    parameters: {
      ...paging,
      ...modified,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      eventId: 'integer',
      includeDeleted: 'boolean',
    },
    required: ['modifiedSince'],
    flags: words(
      'meetingRooms accommodations commissions entityLinks permissions operationsRecord assignments cancellationRecord extendedProperties',
    ),
  },
  {
    report: 'budgets',
    path: '/v1/BudgetReport/GetBudgetsReport',
    scope: 'budget.read',
    envelope: false,
    parameters: {
      ...paging,
      ...modified,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      targetCurrencyCode: 'string',
      onlyDefaultBudget: 'boolean',
      eventId: 'integer',
      includeDeleted: 'boolean',
    },
    required: ['modifiedSince', 'targetCurrencyCode'],
    flags: words('costItems taxes currencies'),
  },
  {
    report: 'enquiries',
    path: '/v1/EnquiryReport/GetEnquiriesReport',
    scope: 'enquiries.read',
    envelope: true,
    parameters: {
      ...paging,
      status: 'integer[]',
      enquiryId: 'integer',
      ...booker,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      ...stay,
      ...created,
      ...modified,
    },
    required: [],
    flags: words('enquiryVenues enquiryDay bedrooms customQuestions customFields approver addressExtra taxes'),
  },
  {
    report: 'automated_bookings',
    path: '/v1/AutomatedBookingReport/GetAutomatedBookings',
    scope: 'automatedbookings.read',
    envelope: true,
    parameters: {
      ...paging,
      status: 'integer[]',
      bookingTypes: 'integer[]',
      currencyCode: 'string',
      reservationId: 'integer',
      ...booker,
      ...stay,
      ...created,
      ...modified,
    },
    required: ['currencyCode'],
    flags: words(
      'reservationDays reservationDayFoodDrinks reservationDayEquipments vatrates costCenters currencies approver transactions',
    ),
  },
  {
    report: 'office_reservations',
    path: '/v1/OfficeReport/GetOfficeReservations',
    scope: 'officereservations.read',
    envelope: true,
    parameters: {
      ...paging,
      status: 'integer[]',
      bookingTypes: 'integer[]',
      officeReservationId: 'integer',
      ...booker,
      ...stay,
      ...created,
      ...modified,
    },
    required: [],
    flags: words('reservationDays userDetails customData attendees benchmarkData extraItems'),
  },
  {
    report: 'merf_submissions',
    path: '/v1/MerfReport/GetMerfReport',
    scope: 'merf.read',
    envelope: true,
    parameters: {
      ...paging,
      ...modified,
      ...created,
      companyId: 'integer',
      affiliateId: 'integer',
      formId: 'integer',
      eventId: 'integer',
    },
    required: [],
    flags: words('person fieldResponses attachments'),
  },
  {
    report: 'audit_entries',
    path: '/v1/AuditReport/GetAuditReport',
    scope: 'audit.read',
    envelope: true,
    parameters: { entityId: 'integer', entityRecordId: 'integer', ...period, ...paging },
    required: ['entityId', 'entityRecordId', 'since'],
    flags: words('payload aggregates'),
  },
  {
    report: 'enquiry_audit_entries',
    path: '/v1/EnquiryReport/{enquiryId}/Audit',
    scope: 'enquiries.read',
    envelope: true,
    // The specification lists enquiryId among the parameters although the sample body omits it: both are accepted.
    parameters: { enquiryId: 'integer', ...period, ...paging },
    required: ['since'],
    flags: words('payload aggregates'),
  },
]

export const SCOPES: readonly string[] = [...new Set(ENDPOINTS.map((endpoint) => endpoint.scope))]

/** The numbers of the audit report's `entityId`; the specification does not say them, so these are ours. */
export const ENTITY_IDS: Readonly<Record<WorldReport, number>> = {
  enquiries: 1,
  events: 3,
  budgets: 5,
  automated_bookings: 7,
  office_reservations: 9,
  merf_submissions: 11,
}

/** What `entityType` says in the general audit report. */
export const ENTITY_TYPES: Readonly<Record<WorldReport, string>> = {
  enquiries: 'Enquiries',
  events: 'Events',
  budgets: 'Budgets',
  automated_bookings: 'AutomatedBookings',
  office_reservations: 'OfficeReservations',
  merf_submissions: 'MerfSubmissions',
}

export const isWorldReport = (name: string): name is WorldReport => (WORLD_REPORTS as readonly string[]).includes(name)
export const isReport = (name: string): name is ReportName => (REPORTS as readonly string[]).includes(name)
