/** What to do about a report that is disabled because a setting is missing. */
import type { OffReason } from '../config/config.ts'

const CURES: Partial<Record<OffReason, string>> = {
  'no currencies are configured': 'Set currencies, such as [EUR], in tidemark.yaml (or TIDEMARK_CURRENCIES).',
  'no entities are configured':
    "Ask the service's owner for its numbers of audited records; set reports.audit_entries.entities in tidemark.yaml.",
}

/** Returns the line to print after the reason; none if the user has disabled the report. */
export function offCureLines(reason: string | undefined): readonly string[] {
  const cure = CURES[reason as OffReason]
  return cure === undefined ? [] : [`  what to do: ${cure}`]
}
