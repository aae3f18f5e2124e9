/**
 * What of a report's rows may not be kept in clear, as this process is configured: for its pages, and as a text to
 * compare.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { privacyText, rowRules } from '../plan/privacy.ts'
import { keyPrint, PrivatePages } from '../staging/privatePage.ts'
import type { SyncSettings } from './context.ts'

type Settings = Pick<SyncSettings, 'reports' | 'hashKey'>

/** What takes private values out of the report's pages; undefined: nothing is private. */
export function privatePagesOf({ reports, hashKey }: Settings, report: Declaration): PrivatePages | undefined {
  const rules = rowRules(report, reports[report.name as ReportName].privacy)
  return rules === undefined ? undefined : new PrivatePages({ answer: report.answer, rules, hashKey })
}

/** The same for the same rules and key, which it doesn't tell; undefined: nothing is private. */
export const privacyTextOf = ({ reports, hashKey }: Settings, report: ReportName): string | undefined =>
  privacyText(reports[report].privacy, keyPrint(hashKey))
