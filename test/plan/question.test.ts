/** Every request holds what the specification names, of the type that it names, and nothing else (spec §4). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isReportName, reports } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { formatInstant, type Instant } from '../../src/instant.ts'
import { bodyOf, pathOf, type Question } from '../../src/plan/question.ts'
import { NOON } from '../support/warehouse.ts'

type Type = 'integer' | 'integer[]' | 'string' | 'boolean' | 'date-time'

const PAGES = { pageNumber: 'integer', pageSize: 'integer' } as const
const MODIFIED = { modifiedSince: 'date-time', modifiedUntil: 'date-time' } as const
const CREATED = { createdSince: 'date-time', createdUntil: 'date-time' } as const
const BOOKER = { bookerEmail: 'string', bookerCompany: 'string', bookerName: 'string' } as const
const DATES = { startDate: 'date-time', endDate: 'date-time' } as const
const AUDIT = { since: 'date-time', until: 'date-time', ...PAGES } as const

interface Specified {
  readonly path: string
  readonly parameters: Readonly<Record<string, Type>>
  readonly required: string[]
  readonly expand: string[]
}

/** Read off the specification by hand, table by table: path, parameters, required ones, expand flags. */
const SPECIFIED: Readonly<Record<string, Specified>> = {
  audit_entries: {
    path: '/v1/AuditReport/GetAuditReport',
    parameters: { entityId: 'integer', entityRecordId: 'integer', ...AUDIT },
    required: ['entityId', 'entityRecordId', 'since'],
    expand: ['payload', 'aggregates'],
  },
  automated_bookings: {
    path: '/v1/AutomatedBookingReport/GetAutomatedBookings',
    parameters: {
      ...PAGES,
      status: 'integer[]',
      bookingTypes: 'integer[]',
      currencyCode: 'string',
      reservationId: 'integer',
      ...BOOKER,
      ...DATES,
      ...CREATED,
      ...MODIFIED,
    },
    required: ['currencyCode'],
    expand: [
      'reservationDays',
      'reservationDayFoodDrinks',
      'reservationDayEquipments',
      'vatrates',
      'costCenters',
      'currencies',
      'approver',
      'transactions',
    ],
  },
  budgets: {
    path: '/v1/BudgetReport/GetBudgetsReport',
    parameters: {
      ...MODIFIED,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      targetCurrencyCode: 'string',
      onlyDefaultBudget: 'boolean',
      eventId: 'integer',
      includeDeleted: 'boolean',
      ...PAGES,
    },
    required: ['modifiedSince', 'targetCurrencyCode'],
    expand: ['costItems', 'taxes', 'currencies'],
  },
  enquiries: {
    path: '/v1/EnquiryReport/GetEnquiriesReport',
    parameters: {
      ...PAGES,
      status: 'integer[]',
      enquiryId: 'integer',
      ...BOOKER,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      ...DATES,
      ...CREATED,
      ...MODIFIED,
    },
    required: [],
    expand: [
      'enquiryVenues',
      'enquiryDay',
      'bedrooms',
      'customQuestions',
      'customFields',
      'approver',
      'addressExtra',
      'taxes',
    ],
  },
  enquiry_audit_entries: {
    path: '/v1/EnquiryReport/77/Audit',
    // The path names the enquiry; the sample body omits it.
    parameters: AUDIT,
    required: ['since'],
    expand: ['payload', 'aggregates'],
  },
  events: {
    path: '/v1/EventReport/GetEventsReport',
    parameters: {
      ...PAGES,
      ...MODIFIED,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      eventId: 'integer',
      includeDeleted: 'boolean',
    },
    required: ['modifiedSince'],
    expand: [
      'meetingRooms',
      'accommodations',
      'commissions',
      'entityLinks',
      'permissions',
      'operationsRecord',
      'assignments',
      'cancellationRecord',
      'extendedProperties',
    ],
  },
  merf_submissions: {
    path: '/v1/MerfReport/GetMerfReport',
    parameters: {
      ...PAGES,
      ...MODIFIED,
      ...CREATED,
      companyId: 'integer',
      affiliateId: 'integer',
      formId: 'integer',
      eventId: 'integer',
    },
    required: [],
    expand: ['person', 'fieldResponses', 'attachments'],
  },
  office_reservations: {
    path: '/v1/OfficeReport/GetOfficeReservations',
    parameters: {
      ...PAGES,
      status: 'integer[]',
      bookingTypes: 'integer[]',
      officeReservationId: 'integer',
      ...BOOKER,
      ...DATES,
      ...CREATED,
      ...MODIFIED,
    },
    required: [],
    expand: ['reservationDays', 'userDetails', 'customData', 'attendees', 'benchmarkData', 'extraItems'],
  },
}

const isOfType: Record<Type, (value: unknown) => boolean> = {
  integer: (value) => Number.isSafeInteger(value),
  'integer[]': (value) => Array.isArray(value) && value.every((each) => Number.isSafeInteger(each)),
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  'date-time': (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value),
}

const A_VALUE: Record<Type, unknown> = {
  integer: 7,
  'integer[]': [1, 2],
  string: 'x',
  boolean: false,
  'date-time': formatInstant(NOON),
}

const recordOf = ({ perRecord, path }: Declaration): Question['record'] => {
  if (perRecord === undefined) return undefined
  return path.includes('{enquiryId}') ? { enquiryId: 77 } : { entityId: 3, entityRecordId: 77 }
}

/** The reports that the specification documents. What others send, the conformance test holds against the sandbox. */
const documented = reports.flatMap((report: Declaration) => {
  const specified = SPECIFIED[report.name]
  return specified === undefined ? [] : [{ name: report.name, report, specified }]
})

it('every report of the specification is declared', () => {
  expect(Object.keys(SPECIFIED).filter((name) => !isReportName(name))).toEqual([])
})

const anInstant = fc.integer({ min: -1e12, max: 4e15 }).map((micros) => micros as Instant)

describe.each(documented)('a question to $name', ({ report, specified }) => {
  const { path, parameters, required, expand } = specified
  const record = recordOf(report)
  const aQuestion = fc
    .record({
      since: fc.option(anInstant, { nil: undefined }),
      until: fc.option(anInstant, { nil: undefined }),
      byCreation: fc.boolean(),
      expand: fc.subarray(Object.keys(report.expand)),
      filters: fc.subarray(Object.entries(report.filters)),
      deleted: fc.boolean(),
    })
    .map(({ since, until, byCreation, expand, filters, deleted }): Question => {
      const bounds = { since, until }
      return {
        ...(byCreation && report.created !== undefined ? { created: bounds } : { window: bounds }),
        expand,
        filters: Object.fromEntries(filters.map(([name, type]) => [name, A_VALUE[type]])),
        ...(report.currency === undefined ? {} : { currency: 'EUR' }),
        ...(record === undefined ? {} : { record }),
        ...(report.deletes === 'diff' ? { includeDeleted: deleted } : {}),
      }
    })

  it('goes to the path that the specification names', () => {
    expect(pathOf(report, { expand: [], filters: {}, ...(record === undefined ? {} : { record }) })).toBe(path)
  })

  it('holds only parameters that the specification names, each of its type', () => {
    fc.assert(
      fc.property(
        aQuestion,
        fc.integer({ min: 1, max: 1e6 }),
        fc.integer({ min: 1, max: 1e4 }),
        (question, number, size) => {
          const { expand: flags, ...body } = bodyOf(report, question, { number, size })
          for (const [name, value] of Object.entries(body)) {
            const type = parameters[name]
            expect(type, `${name} is a parameter`).toBeDefined()
            if (type !== undefined) expect(isOfType[type](value), `${name} is a ${type}`).toBe(true)
          }
          expect(Object.keys(flags ?? {}).every((flag) => expand.includes(flag))).toBe(true)
          expect(Object.values(flags ?? {}).every((value) => value === true)).toBe(true)
          expect(body).toMatchObject({ pageNumber: number, pageSize: size })
          expect(JSON.parse(JSON.stringify(body))).toEqual(body)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('holds all that is required, and every flag when all are wanted', () => {
    const question: Question = {
      window: { since: NOON, until: NOON },
      expand: Object.keys(report.expand),
      filters: {},
      ...(report.currency === undefined ? {} : { currency: 'EUR' }),
      ...(record === undefined ? {} : { record }),
    }
    const body = bodyOf(report, question, { number: 1, size: 10 })
    expect(Object.keys(body)).toEqual(expect.arrayContaining(required))
    expect(Object.keys(body['expand'] as object).toSorted()).toEqual(expand.toSorted())
  })

  it('has no expand object when nothing is expanded, and no bound that was not given', () => {
    const body = bodyOf(report, { expand: [], filters: {} }, { number: 1, size: 10 })
    expect(Object.keys(body).filter((name) => /expand|since|until/i.test(name))).toEqual([])
  })
})

describe('the declarations', () => {
  it('demand a lower bound exactly where the specification does', () => {
    for (const { report, specified } of documented) {
      expect(report.window.required, report.name).toBe(specified.required.includes(report.window.since))
    }
  })

  it('offer as filters only what the specification names, of its type', () => {
    for (const { report, specified } of documented) {
      for (const [name, type] of Object.entries(report.filters))
        expect(specified.parameters[name], `${report.name} ${name}`).toBe(type)
    }
  })
})
