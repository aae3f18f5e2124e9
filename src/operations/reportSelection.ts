/** Checks the report names in a request. */
import { isReportName, reportNames, reportOf, type ReportName } from '../../schema/index.ts'
import type { Config, OffReason, ReportConfig } from '../config/config.ts'
import { reportHint } from '../config/suggest.ts'
import { SyncError } from '../errors.ts'

/** Returns the enabled reports of a request. Throws REPORT_UNKNOWN, or CONFIG_INVALID if a named report is disabled. */
export function selectReports(
  names: readonly string[],
  { reports }: Pick<Config, 'reports'>,
  isDefault: (report: ReportConfig) => boolean = () => true,
): ReportName[] {
  const selected = namedReports(names, (report) => isDefault(reports[report]))
  for (const report of selected) {
    const { enabled, offReason } = reports[report]
    if (names.length > 0 && !enabled) throw switchedOff(report, offReason)
  }
  return selected
}

/** Returns whether `reconcile` and `verify` can compare the report. Audit reports have no windows to compare. */
export const isComparable = ({ name, enabled }: ReportConfig): boolean =>
  enabled && reportOf(name).perRecord === undefined

/** Returns the named reports or, if `names` is empty, the reports that `isDefault` accepts. Throws REPORT_UNKNOWN. */
export function namedReports(names: readonly string[], isDefault: (report: ReportName) => boolean = () => true) {
  const unknown = names.find((name) => !isReportName(name))
  if (unknown === undefined) return reportNames.filter(names.length === 0 ? isDefault : (name) => names.includes(name))
  throw new SyncError('REPORT_UNKNOWN', `there is no report "${unknown}"${reportHint(unknown, reportNames)}`, {
    cure: `Reports are: ${reportNames.join(', ')}.`,
    data: { report: unknown },
  })
}

const CURES: Record<OffReason, string> = {
  'enabled: false': 'Remove "enabled: false" from its section, or leave it out of the command.',
  'not in TIDEMARK_REPORTS': 'Add it to TIDEMARK_REPORTS, or unset that variable.',
  'no currencies are configured': 'List the currencies to ask for under "currencies", or in TIDEMARK_CURRENCIES.',
  'no entities are configured': 'Map entity numbers to reports under "reports.audit_entries.entities".',
}

function switchedOff(report: ReportName, offReason: OffReason | undefined): SyncError {
  return new SyncError('CONFIG_INVALID', `${report} is off: ${offReason ?? 'not configured'}`, {
    report,
    cure: offReason === undefined ? 'Switch it on in the configuration.' : CURES[offReason],
  })
}
