/** Lists all reports. The setting `reports_from` adds an operator's own reports. */
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

/** The name of a report. The setting `reports_from` adds names. @useDeclaredType */
export type ReportName = (typeof ofSpecification)[number]['name']

/** All reports in the order in which they run. */
export const reports: (Declaration & { readonly name: ReportName })[] = [...ofSpecification]
export const reportNames: ReportName[] = reports.map((report) => report.name)

/** Adds reports before the audit reports, which must run last. */
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

/** Returns whether a stored row is of a known report. A report is unknown if its file was removed from `reports_from`. */
export const isKnown = ({ report }: { readonly report: string }): boolean => isReportName(report)

export const reportOf = (name: ReportName): Declaration => reports.find((report) => report.name === name) as Declaration

export const isPerRecord = (name: ReportName): boolean => reportOf(name).perRecord !== undefined

/** Accepts the name of any report, even if the report is registered later. */
export const Report = z
  .string()
  .refine(isReportName, { error: () => `must be one of ${reportNames.join(', ')}` })
  .meta({
    get enum() {
      return reportNames
    },
  }) as unknown as z.ZodType<ReportName, string>

export type { Declaration } from './report.ts'
