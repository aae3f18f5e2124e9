/** Lists all reports. To add a report, add a file in `reports/` and a line here. */
import type { Declaration } from './report.ts'
import { auditEntries } from './reports/auditEntries.ts'
import { automatedBookings } from './reports/automatedBookings.ts'
import { budgets } from './reports/budgets.ts'
import { enquiries } from './reports/enquiries.ts'
import { enquiryAuditEntries } from './reports/enquiryAuditEntries.ts'
import { events } from './reports/events.ts'
import { merfSubmissions } from './reports/merfSubmissions.ts'
import { officeReservations } from './reports/officeReservations.ts'

export const reports = [
  events,
  budgets,
  enquiries,
  automatedBookings,
  officeReservations,
  merfSubmissions,
  auditEntries,
  enquiryAuditEntries,
] as const satisfies readonly Declaration[]

export type ReportName = (typeof reports)[number]['name']

export const reportNames: readonly ReportName[] = reports.map((report) => report.name)

const byName: ReadonlyMap<string, Declaration> = new Map(reports.map((report) => [report.name, report]))

export const isReportName = (name: string): name is ReportName => byName.has(name)

export const reportOf = (name: ReportName): Declaration => byName.get(name) as Declaration

export const isPerRecord = (name: ReportName): boolean => reportOf(name).perRecord !== undefined

export type { Declaration } from './report.ts'
