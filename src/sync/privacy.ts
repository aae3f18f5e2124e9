/** Applies a report's privacy settings to its pages and loads. */
import { isPerRecord, type ReportName } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import type { ReadSettings } from '../plan/coverage.ts'
import { privacyText, rowRules } from '../plan/privacy.ts'
import { keyPrint, PrivatePages } from '../staging/privatePage.ts'
import type { ReportConfig } from '../config/config.ts'
import type { LoadRules } from '../warehouse/load/loadInput.ts'
import type { SyncSettings } from './context.ts'

type Settings = Pick<SyncSettings, 'reports' | 'hashKey'>

export function privatePagesOf({ reports, hashKey }: Settings, report: Declaration): PrivatePages | undefined {
  const rules = rowRules(report, reports[report.name as ReportName].privacy)
  return rules === undefined
    ? undefined
    : new PrivatePages({ answer: report.answer, pages: report.pages, rules, hashKey })
}

export const privacyTextOf = ({ reports, hashKey }: Settings, report: ReportName): string | undefined =>
  privacyText(reports[report].privacy, keyPrint(hashKey))

/** Returns the settings that determine which rows and values are read. Audit reports have no filters. */
export function readSettingsOf(settings: Settings, report: ReportName): ReadSettings {
  const { start, filters, expand } = settings.reports[report]
  return { start, filters: isPerRecord(report) ? {} : filters, expand, columns: privacyTextOf(settings, report) }
}

export const loadRules = ({ contract, privacy, settleMs }: ReportConfig): LoadRules => ({
  contract,
  settleMs,
  excludePayload: privacy.excludePayload,
})
