/** The list of the sandbox's reports. */
import { automatedBookings } from './automatedBookings.ts'
import { budgets } from './budgets.ts'
import { type DeclaredReport, definitionOf } from './declared.ts'
import { type Definition, type Endpoint, paging } from './definition.ts'
import { enquiries } from './enquiries.ts'
import { events } from './events.ts'
import { merfSubmissions } from './merfSubmissions.ts'
import { officeReservations } from './officeReservations.ts'

const definitions = {
  events,
  budgets,
  enquiries,
  automated_bookings: automatedBookings,
  office_reservations: officeReservations,
  merf_submissions: merfSubmissions,
} as const satisfies Readonly<Record<string, Definition>>

export type WorldReport = keyof typeof definitions

export const DEFINITIONS: Record<WorldReport, Definition> = { ...definitions }
export const WORLD_REPORTS = Object.keys(definitions) as WorldReport[]

export const perReport = <T>(make: (report: WorldReport) => T): Readonly<Record<WorldReport, T>> =>
  Object.fromEntries(WORLD_REPORTS.map((report) => [report, make(report)])) as Record<WorldReport, T>

const period = { since: 'date-time', until: 'date-time' } as const

const AUDITS = {
  audit_entries: {
    path: '/v1/AuditReport/GetAuditReport',
    scope: 'audit.read',
    envelope: true,
    parameters: { entityId: 'integer', entityRecordId: 'integer', ...period, ...paging },
    required: ['entityId', 'entityRecordId', 'since'],
  },
  enquiry_audit_entries: {
    path: '/v1/EnquiryReport/{enquiryId}/Audit',
    scope: 'enquiries.read',
    envelope: true,
    // Optional, because the specification's sample body does not contain `enquiryId`.
    parameters: { enquiryId: 'integer', ...period, ...paging },
    required: ['since'],
  },
} as const satisfies Readonly<Record<string, Endpoint>>

export type ReportName = WorldReport | keyof typeof AUDITS

export interface NamedEndpoint extends Endpoint {
  readonly report: ReportName
  readonly required: readonly string[]
  readonly flags: readonly string[]
}

const endpointOf = (report: WorldReport): NamedEndpoint => {
  const definition = DEFINITIONS[report]
  return { report, required: [], ...definition, flags: definition.collections.map(({ flag }) => flag) }
}

export const ENDPOINTS: NamedEndpoint[] = [
  ...WORLD_REPORTS.map(endpointOf),
  ...(['audit_entries', 'enquiry_audit_entries'] as const).map((report) => ({
    report,
    ...AUDITS[report],
    flags: ['payload', 'aggregates'],
  })),
]

export const REPORTS: string[] = ENDPOINTS.map(({ report }) => report)

export const SCOPES: string[] = [...new Set(ENDPOINTS.map(({ scope }) => scope))]

export const ENTITY_IDS: Record<WorldReport, number> = { ...perReport((report) => DEFINITIONS[report].entity.id) }

/** Adds generated reports to every sandbox that this process starts later. */
export function serveDeclared(declared: readonly DeclaredReport[]): void {
  for (const [index, each] of declared.entries()) {
    if (REPORTS.includes(each.name)) continue
    const report = each.name as WorldReport
    const definition = definitionOf(each, index)
    DEFINITIONS[report] = definition
    ENTITY_IDS[report] = definition.entity.id
    WORLD_REPORTS.push(report)
    REPORTS.push(report)
    ENDPOINTS.push(endpointOf(report))
    if (!SCOPES.includes(definition.scope)) SCOPES.push(definition.scope)
  }
}

export const reportOfEntity = (entityId: number): WorldReport | undefined =>
  WORLD_REPORTS.find((report) => ENTITY_IDS[report] === entityId)

export const isWorldReport = (name: string): name is WorldReport => Object.hasOwn(DEFINITIONS, name)

export interface Route {
  readonly endpoint: NamedEndpoint
  /** The part of the path that replaces `{enquiryId}`. It is not always a number. */
  readonly enquiryId?: string
}

const PREFIX = '/reportingapi'
const ENQUIRY_AUDIT = /^\/reportingapi\/v1\/EnquiryReport\/([^/]+)\/Audit$/

export function routeOf(path: string): Route | undefined {
  const enquiryId = ENQUIRY_AUDIT.exec(path)?.[1]
  const named = enquiryId === undefined ? path : `${PREFIX}${AUDITS.enquiry_audit_entries.path}`
  const endpoint = ENDPOINTS.find((each) => PREFIX + each.path === named)
  return endpoint && { endpoint, ...(enquiryId !== undefined && { enquiryId }) }
}
