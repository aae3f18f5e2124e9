/**
 * Everything the client asks, held against the parameters of the specification (§4), which stand here once more by
 * hand: neither the declarations nor the sandbox are asked what is allowed.
 */
import { expect, it } from 'vitest'
import { reportNames } from '../../schema/index.ts'
import { ENTITY_IDS } from '../../src/sandbox/server.ts'
import { aTide } from '../support/tide.ts'

type Type = 'integer' | 'integer[]' | 'string' | 'boolean' | 'date-time'

interface Endpoint {
  readonly path: RegExp
  readonly required: readonly string[]
  readonly parameters: Readonly<Record<string, Type>>
  readonly expand: string
}

const PAGE = { pageNumber: 'integer', pageSize: 'integer' } as const
const MODIFIED = { modifiedSince: 'date-time', modifiedUntil: 'date-time' } as const
const CREATED = { createdSince: 'date-time', createdUntil: 'date-time' } as const
const BOOKER = { bookerEmail: 'string', bookerCompany: 'string', bookerName: 'string' } as const
const STAY = { startDate: 'date-time', endDate: 'date-time' } as const
const PERIOD = { since: 'date-time', until: 'date-time' } as const

const SPECIFIED: readonly Endpoint[] = [
  {
    path: /^\/reportingapi\/v1\/AuditReport\/GetAuditReport$/,
    required: ['entityId', 'entityRecordId', 'since'],
    parameters: { entityId: 'integer', entityRecordId: 'integer', ...PERIOD, ...PAGE },
    expand: 'payload aggregates',
  },
  {
    path: /^\/reportingapi\/v1\/AutomatedBookingReport\/GetAutomatedBookings$/,
    required: ['currencyCode'],
    parameters: {
      ...PAGE,
      status: 'integer[]',
      bookingTypes: 'integer[]',
      currencyCode: 'string',
      reservationId: 'integer',
      ...BOOKER,
      ...STAY,
      ...CREATED,
      ...MODIFIED,
    },
    expand:
      'reservationDays reservationDayFoodDrinks reservationDayEquipments vatrates costCenters currencies approver transactions',
  },
  {
    path: /^\/reportingapi\/v1\/BudgetReport\/GetBudgetsReport$/,
    required: ['modifiedSince', 'targetCurrencyCode'],
    parameters: {
      ...MODIFIED,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      targetCurrencyCode: 'string',
      onlyDefaultBudget: 'boolean',
      eventId: 'integer',
      includeDeleted: 'boolean',
      ...PAGE,
    },
    expand: 'costItems taxes currencies',
  },
  {
    path: /^\/reportingapi\/v1\/EnquiryReport\/GetEnquiriesReport$/,
    required: [],
    parameters: {
      ...PAGE,
      status: 'integer[]',
      enquiryId: 'integer',
      ...BOOKER,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      ...STAY,
      ...CREATED,
      ...MODIFIED,
    },
    expand: 'enquiryVenues enquiryDay bedrooms customQuestions customFields approver addressExtra taxes',
  },
  {
    path: /^\/reportingapi\/v1\/EnquiryReport\/\d+\/Audit$/,
    required: ['since'],
    parameters: { enquiryId: 'integer', ...PERIOD, ...PAGE },
    expand: 'payload aggregates',
  },
  {
    path: /^\/reportingapi\/v1\/EventReport\/GetEventsReport$/,
    required: ['modifiedSince'],
    parameters: {
      ...PAGE,
      ...MODIFIED,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      eventId: 'integer',
      includeDeleted: 'boolean',
    },
    expand:
      'meetingRooms accommodations commissions entityLinks permissions operationsRecord assignments cancellationRecord extendedProperties',
  },
  {
    path: /^\/reportingapi\/v1\/MerfReport\/GetMerfReport$/,
    required: [],
    parameters: {
      ...PAGE,
      ...MODIFIED,
      ...CREATED,
      companyId: 'integer',
      affiliateId: 'integer',
      formId: 'integer',
      eventId: 'integer',
    },
    expand: 'person fieldResponses attachments',
  },
  {
    path: /^\/reportingapi\/v1\/OfficeReport\/GetOfficeReservations$/,
    required: [],
    parameters: {
      ...PAGE,
      status: 'integer[]',
      bookingTypes: 'integer[]',
      officeReservationId: 'integer',
      ...BOOKER,
      ...STAY,
      ...CREATED,
      ...MODIFIED,
    },
    expand: 'reservationDays userDetails customData attendees benchmarkData extraItems',
  },
]

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?(Z|[+-]\d\d:\d\d)?$/

const IS: Readonly<Record<Type, (value: unknown) => boolean>> = {
  integer: (value) => Number.isSafeInteger(value),
  'integer[]': (value) => Array.isArray(value) && value.length > 0 && value.every(Number.isSafeInteger),
  string: (value) => typeof value === 'string' && value !== '',
  boolean: (value) => typeof value === 'boolean',
  'date-time': (value) => typeof value === 'string' && ISO_8601.test(value) && !Number.isNaN(Date.parse(value)),
}

/** What is wrong with a request; nothing is what is wanted. */
function wrongWith(path: string, body: Readonly<Record<string, unknown>>): string[] {
  const endpoint = SPECIFIED.find((each) => each.path.test(path))
  if (endpoint === undefined) return [`${path} is no report`]
  const { expand = {}, ...values } = body
  const flags = endpoint.expand.split(' ')
  return [
    ...endpoint.required.filter((name) => !(name in values)).map((name) => `${path} lacks ${name}`),
    ...Object.entries(values).flatMap(([name, value]) => {
      const type = endpoint.parameters[name]
      if (type === undefined) return [`${path} has no parameter ${name}`]
      return IS[type](value) ? [] : [`${path}: ${name} is no ${type}: ${JSON.stringify(value)}`]
    }),
    ...Object.entries(expand as object).flatMap(([flag, value]) =>
      flags.includes(flag) && value === true ? [] : [`${path}: expand.${flag} is ${JSON.stringify(value)}`],
    ),
  ]
}

const STAYS = { startDate: '2020-01-01T00:00:00Z', endDate: '2030-12-31T23:59:59Z' }
const BOOKERS = { bookerEmail: 'a@example.com', bookerCompany: 'Example', bookerName: 'Ada' }
const FILTERS = {
  events: { companyId: 7, affiliateGroupId: 2, eventId: 100_001 },
  budgets: { companyId: 7, affiliateGroupId: 2, onlyDefaultBudget: true, eventId: 100_001 },
  enquiries: { status: [1, 2], enquiryId: 20_001, ...BOOKERS, companyId: 7, affiliateGroupId: 2, ...STAYS },
  automated_bookings: { status: [1], bookingTypes: [1, 2], reservationId: 700_001, ...BOOKERS, ...STAYS },
  office_reservations: { status: [1], bookingTypes: [1], officeReservationId: 30_001, ...BOOKERS, ...STAYS },
  merf_submissions: { companyId: 7, affiliateId: 3, formId: 4, eventId: 100_001 },
} as const

const AUDITED = { entities: [{ entity_id: ENTITY_IDS.events, follows: 'events' }] }

it.each([
  ['without filters, with all flags', { audit_entries: AUDITED }],
  [
    'with every filter that there is',
    {
      ...Object.fromEntries(Object.entries(FILTERS).map(([report, filters]) => [report, { filters }])),
      audit_entries: AUDITED,
    },
  ],
  [
    'with some flags or none',
    {
      events: { expand: ['commissions'] },
      enquiries: { expand: [] },
      audit_entries: { ...AUDITED, expand: ['payload'] },
    },
  ],
])('all requests of first and later runs are as specified, %s', { tags: 'long' }, async (_, reports) => {
  await using tide = await aTide({
    sandbox: { rows: 60 },
    settings: { reports, defaults: { page_size: 20 } },
  })
  await tide.sync()
  const { world, requests } = tide.sandbox
  for (const report of ['events', 'budgets', 'enquiries', 'automated_bookings', 'merf_submissions'] as const) {
    for (const key of world.liveKeys(report).slice(0, 3)) world.edit(report, key)
    world.softDelete(report, world.liveKeys(report)[0] as number)
  }
  await tide.sync()
  const asked = requests.list().filter(({ path }) => path.startsWith('/reportingapi'))
  expect(asked.length).toBeGreaterThan(2 * reportNames.length)
  expect(asked.flatMap(({ path, body }) => wrongWith(path, JSON.parse(body) as Record<string, unknown>))).toEqual([])
  // What pages count from is not specified: page 0 of a bare array without rows is asked for; the sandbox counts from 1.
  const fromOne = asked.filter(({ body }) => (JSON.parse(body) as Record<string, unknown>)['pageNumber'] !== 0)
  expect(asked.length - fromOne.length).toBeLessThanOrEqual(2)
  expect(fromOne.flatMap(({ problems }) => problems)).toEqual([])
  expect([...new Set(fromOne.map(({ status }) => status))]).toEqual([200])
})

it('the check bites', () => {
  const path = '/reportingapi/v1/EventReport/GetEventsReport'
  const body = { modifiedUntil: 'soon', pageSize: '5', status: [1], expand: { taxes: true, commissions: 1 } }
  expect(wrongWith(path, body)).toHaveLength(6)
  expect(wrongWith('/reportingapi/v1/EventReport', {})).toHaveLength(1)
})
