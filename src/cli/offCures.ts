/** Advises what to do about disabled reports. */
import type { OffReason } from '../config/config.ts'

const MISSING_CURES: Partial<Record<OffReason, string>> = {
  'no currencies are configured': 'Set currencies, such as [EUR], in tidemark.yaml (or TIDEMARK_CURRENCIES).',
  'no entities are configured':
    "Ask the service's owner for its numbers of audited records; set reports.audit_entries.entities in tidemark.yaml.",
}

export function offCureLines(reason: string | undefined): readonly string[] {
  const cure = MISSING_CURES[reason as OffReason]
  return cure === undefined ? [] : [`  what to do: ${cure}`]
}
