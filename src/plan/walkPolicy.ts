/** The policy of a walk, by the reason for which rows are read. */

export interface WalkPolicy {
  /** Whether a span may be cut. `never`: rows without a key on the shared bound of two parts would count twice. */
  readonly cuts: 'freely' | 'never' | 'only one response is wanted'
  /** Whether a stored paging profile is checked before use: the service may have reduced its page size since. */
  readonly checksProfile: boolean
}

export const WALK_POLICIES = {
  /** Incremental runs: rows that changed since the mark. */
  changes: { cuts: 'freely', checksProfile: true },
  /** The first request of a report without bounds: one response with everything, if the service returns that. */
  'first look': { cuts: 'only one response is wanted', checksProfile: true },
  /** Rows that are read again, after a change of the configuration or to compare them. */
  reread: { cuts: 'freely', checksProfile: true },
  /** All rows, to find those that are missing in the warehouse. */
  reconcile: { cuts: 'freely', checksProfile: true },
  /** One of many windows. Incremental runs check the profile at the same time, so each window saves that request. */
  backfill: { cuts: 'freely', checksProfile: false },
  /** The audit entries of one record. */
  audit: { cuts: 'never', checksProfile: false },
} as const satisfies Record<string, WalkPolicy>
