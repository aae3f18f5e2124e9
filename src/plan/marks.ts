/**
 * The high-water marks of a report, by the names under which `tidemark.marks` holds them (product contract §3). Each is
 * named after what is asked or compared with it.
 */
import type { Declaration } from '../../schema/report.ts'

export type MarkName = 'modified_since' | 'aggregate_record_modified' | 'since'

/** The marks up to which a scope was read: a windowed report's, or that of one record's audit trail. */
export const READ_UP_TO = ['modified_since', 'since'] as const satisfies readonly MarkName[]

/** The marks that a proven window of the report moves. */
export function marksOf({ perRecord, newerBy }: Pick<Declaration, 'perRecord' | 'newerBy'>): readonly MarkName[] {
  if (perRecord !== undefined) return ['since']
  return newerBy.includes('aggregate_record_modified')
    ? ['modified_since', 'aggregate_record_modified']
    : ['modified_since']
}
