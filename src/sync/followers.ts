/** Finds the enabled audit reports that follow a report. With `scopePrefix` `3:`, the trail of row 17 is `3:17`. */
import type { ReportName } from '../../schema/index.ts'
import type { ReportConfig } from '../config/config.ts'
import type { Follower } from '../warehouse/load/loadInput.ts'

export function followersOf(report: ReportName, reports: Readonly<Record<ReportName, ReportConfig>>): Follower[] {
  const { enquiry_audit_entries: trail, audit_entries: audit } = reports
  const isFollowed = report === 'enquiries' && trail.enabled
  const followsEnquiries = { report: trail.name, scopePrefix: '', settleMs: trail.settleMs }
  const entities = audit.enabled ? audit.entities.filter((entity) => entity.follows === report) : []
  return [
    ...(isFollowed ? [followsEnquiries] : []),
    ...entities.map(({ entityId }) => ({ report: audit.name, scopePrefix: `${entityId}:`, settleMs: audit.settleMs })),
  ]
}
