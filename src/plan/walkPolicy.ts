/** The policies of walks, by the reason why rows are read. */

export interface WalkPolicy {
  /** Whether a span may be cut. `never`: rows have no key, so a row on the bound of two parts would count twice. */
  readonly cuts: 'freely' | 'never' | 'only one response is wanted'
  /** Whether the stored paging profile is tested before use: the service may clamp its pages to fewer rows now. */
  readonly checksProfile: boolean
}

export const WALK_POLICIES = {
  /** Incremental runs: rows that changed since the mark. */
  changes: { cuts: 'freely', checksProfile: true },
  /** The first read of a report without bounds: it succeeds only if one response returns everything. */
  'first look': { cuts: 'only one response is wanted', checksProfile: true },
  /** Rows that are read again: after a change of the configuration, or to compare them. */
  reread: { cuts: 'freely', checksProfile: true },
  /** All rows, to find those that the warehouse lacks. */
  reconcile: { cuts: 'freely', checksProfile: true },
  /** A window of a backfill. To save a request per window, the profile is not checked: incremental runs check it. */
  backfill: { cuts: 'freely', checksProfile: false },
  /** The audit entries of one record. */
  audit: { cuts: 'never', checksProfile: false },
} as const satisfies Record<string, WalkPolicy>
