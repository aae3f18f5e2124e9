/** Lists all reports: those in the specification, and those added by the setting `reports_from`. */
import { z } from 'zod'
import type { Declaration } from './report.ts'
import { auditEntries } from './reports/auditEntries.ts'
import { automatedBookings } from './reports/automatedBookings.ts'
import { budgets } from './reports/budgets.ts'
import { enquiries } from './reports/enquiries.ts'
import { enquiryAuditEntries } from './reports/enquiryAuditEntries.ts'
import { events } from './reports/events.ts'
import { merfSubmissions } from './reports/merfSubmissions.ts'
import { officeReservations } from './reports/officeReservations.ts'

const ofSpecification = [
  events,
  budgets,
  enquiries,
  automatedBookings,
  officeReservations,
  merfSubmissions,
  auditEntries,
  enquiryAuditEntries,
] as const satisfies readonly Declaration[]

/** The name of a report in the specification. The setting `reports_from` adds other names. @useDeclaredType */
export type ReportName = (typeof ofSpecification)[number]['name']

/** All reports in the order in which they run. Only `registerReports` changes this list. */
export const reports: (Declaration & { readonly name: ReportName })[] = [...ofSpecification]
export const reportNames: ReportName[] = reports.map((report) => report.name)

/** Adds reports to the list before the audit reports, because those must run after the reports that they audit. */
export function registerReports(own: readonly Declaration[]): void {
  for (const report of own) {
    if (isReportName(report.name)) continue
    const place = reports.findIndex(({ perRecord }) => perRecord !== undefined)
    reports.splice(place, 0, report as (typeof reports)[number])
    reportNames.splice(place, 0, report.name as ReportName)
  }
}

export const isOwnReport = ({ name }: Declaration): boolean => !ofSpecification.some((report) => report.name === name)

export const isReportName = (name: string): name is ReportName => reports.some((report) => report.name === name)

export const reportOf = (name: ReportName): Declaration => reports.find((report) => report.name === name) as Declaration

export const isPerRecord = (name: ReportName): boolean => reportOf(name).perRecord !== undefined

/** The schema of a report's name. Each parse uses the current list of reports, so it accepts reports added later. */
export const Report = z
  .string()
  .refine(isReportName, { error: () => `must be one of ${reportNames.join(', ')}` })
  .meta({
    get enum() {
      return reportNames
    },
  }) as unknown as z.ZodType<ReportName, string>

export type { Declaration } from './report.ts'
