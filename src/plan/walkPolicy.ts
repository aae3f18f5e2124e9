/** What follows for a walk from the reason for which rows are read: one line for each reason. */

export interface WalkPolicy {
  /** What to do where one response does not hold a span. `never`: rows without a key would come twice where two parts meet. */
  readonly cuts: 'freely' | 'never' | 'only one response is wanted'
  /** Whether the stored paging profile is checked before a run relies on it: the service may have lowered its clamp. */
  readonly checksProfile: boolean
}

export const WALK_POLICIES = {
  /** What changed since the mark. */
  changes: { cuts: 'freely', checksProfile: true },
  /** The first request of a report without bounds: everything, if one response holds it. */
  'first look': { cuts: 'only one response is wanted', checksProfile: true },
  /** What was read before the question changed, or is read to be compared. */
  reread: { cuts: 'freely', checksProfile: true },
  /** Everything, to find what the warehouse missed. */
  reconcile: { cuts: 'freely', checksProfile: true },
  /** One of many windows. Incremental runs check the profile at the same time, so each window saves a request. */
  backfill: { cuts: 'freely', checksProfile: false },
  /** The entries of one record. */
  audit: { cuts: 'never', checksProfile: false },
} as const satisfies Record<string, WalkPolicy>
