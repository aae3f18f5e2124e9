/** Checks the reports that a command line names, and advises what to do about disabled reports. */
import { isReportName, reportNames, type ReportName } from '../../schema/index.ts'
import type { Config, OffReason } from '../config/config.ts'
import { hint } from '../config/suggest.ts'
import { SyncError } from '../errors.ts'

/** Returns all reports if none is named. Throws REPORT_UNKNOWN, or CONFIG_INVALID for a disabled report. */
export function selectReports(names: readonly string[], { reports }: Pick<Config, 'reports'>): readonly ReportName[] {
  if (names.length === 0) return reportNames
  const wanted = requireReportNames(names)
  for (const report of wanted) {
    const { enabled, offReason } = reports[report]
    if (!enabled) throw switchedOff(report, offReason)
  }
  return reportNames.filter((report) => wanted.includes(report))
}

/** Throws REPORT_UNKNOWN with a similar name if a name is no report. */
export function requireReportNames(names: readonly string[]): readonly ReportName[] {
  return names.map((name) => {
    if (isReportName(name)) return name
    throw new SyncError('REPORT_UNKNOWN', `there is no report "${name}"${hint(name, reportNames)}`, {
      cure: `Reports are: ${reportNames.join(', ')}.`,
      data: { report: name },
    })
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

const MISSING_CURES: Partial<Record<OffReason, string>> = {
  'no currencies are configured': 'Set currencies, such as [EUR], in tidemark.yaml (or TIDEMARK_CURRENCIES).',
  'no entities are configured':
    "Ask the service's owner for its numbers of audited records; set reports.audit_entries.entities in tidemark.yaml.",
}

export function offCureLines(reason: string | undefined): readonly string[] {
  const cure = MISSING_CURES[reason as OffReason]
  return cure === undefined ? [] : [`  what to do: ${cure}`]
}
