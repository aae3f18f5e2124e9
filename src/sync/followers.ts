/** Finds the enabled audit reports that follow a report, and the scope prefix of their records. Example: `3:`. */
import type { ReportName } from '../../schema/index.ts'
import type { ReportConfig } from '../config/config.ts'
import type { Follower } from '../warehouse/load/loadInput.ts'

type Reports = Readonly<Record<ReportName, ReportConfig>>

export function followersOf(report: ReportName, reports: Reports): Follower[] {
  const enquiryAudit = reports.enquiry_audit_entries
  const audit = reports.audit_entries
  const entities = audit.enabled ? audit.entities.filter((entity) => entity.follows === report) : []
  return [
    ...(report === 'enquiries' && enquiryAudit.enabled
      ? [{ report: 'enquiry_audit_entries', scopePrefix: '', settleMs: enquiryAudit.settleMs }]
      : []),
    ...entities.map(({ entityId }) => ({
      report: 'audit_entries',
      scopePrefix: `${entityId}:`,
      settleMs: audit.settleMs,
    })),
  ]
}
