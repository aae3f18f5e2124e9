/** `tidemark certify`: tries declarations against the sandbox, and prints whether each claim is true. */
import { isOwnReport, isPerRecord, isReportName, type ReportName, reportOf, reports } from '../../../schema/index.ts'
import { loadOwnReports } from '../../config/ownReports.ts'
import { configInvalid } from '../../config/problems.ts'
import { SyncError } from '../../errors.ts'
import { conformanceOf } from '../certify/conformance.ts'
import { type Finding, findingsText, hasFailed } from '../check/finding.ts'
import { print } from '../commandOutput.ts'
import { namedReports } from '../../operations/reportSelection.ts'
import type { Action, CommandOptions } from '../shell.ts'

export interface CertifyOptions {
  readonly load: () => Promise<CommandOptions['config']>
  readonly reportsFrom: readonly string[]
  readonly json?: boolean
}

interface Certified {
  readonly report: string
  readonly claims: readonly Finding[]
}

export const certify: Action<CertifyOptions> = async (shell, { load, reportsFrom, json = false }, names) => {
  const isKnown = names.length > 0 && names.every(isReportName)
  if (reportsFrom.length === 0 && !isKnown) await load()
  const problems = await loadOwnReports(reportsFrom, shell.cwd)
  if (problems.length > 0) throw configInvalid(problems)
  const certified = namedReports(names, isCertified)
  const audit = certified.find(isPerRecord)
  if (audit !== undefined) {
    const cure = 'Name a report with rows of its own. The tests of Tidemark certify the audit reports.'
    throw new SyncError('USAGE_INVALID', `${audit} is an audit report, which has no declaration of its own kind`, {
      cure,
    })
  }
  const found: Certified[] = []
  for (const report of certified) found.push({ report, claims: await conformanceOf(report, shell.stop.signal) })
  const failed = found.some(({ claims }) => hasFailed(claims))
  const document = { ok: !failed, reports: found.map(documentOf) }
  const text = (width: number) =>
    found.map(({ report, claims }) => `${report}\n${findingsText(claims, width)}`).join('\n')
  return print(shell, { json }, { failed, document, text })
}

const isCertified = (name: ReportName): boolean =>
  !isPerRecord(name) && (!reports.some(isOwnReport) || isOwnReport(reportOf(name)))

const documentOf = ({ report, claims }: Certified): object => ({
  report,
  claims: claims.map(({ check, verdict, ...rest }) => ({ claim: check, result: verdict, ...rest })),
})
