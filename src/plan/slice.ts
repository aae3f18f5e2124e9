/** A slice (a span of time that is proven complete by itself): its state while it is read, and its verdicts. */
import type { Instant } from '../instant.ts'
import type { Page1Completeness, PagingProfile } from './pagingProfile.ts'
import type { Span } from './spans.ts'
import type { RowStamps } from './stampSample.ts'
import type { Proof, Walk } from './walk.ts'

export interface Slice {
  readonly span: Span | undefined
  readonly rowsExpected?: number | undefined
  readonly crowdedInstant?: CrowdedInstant | undefined
  /** Whether the pages of an old slice may show how many rows it has. Example: 3 full pages of 500, then 20 rows. */
  readonly mayCount?: boolean
}

/** Where in a span very many rows seem to have the same time. No cut separates them, so two walks must agree. */
export type CrowdedInstant = 'somewhere' | 'at its end'

export interface CutPlan {
  readonly pageRows: number
  readonly parts?: readonly Span[] | undefined
  readonly partRows?: readonly number[] | undefined
  readonly total?: number | undefined
  readonly pagesEach?: number | undefined
  readonly stamps?: readonly RowStamps[] | undefined
}

export interface WalkSettings {
  readonly answer: 'envelope' | 'array'
  readonly keyed: boolean
  readonly pageSize: number
  /** Rows that are modified at this time or later can still appear. */
  readonly youngFrom: Instant
  /** The report's `start`. A span without a lower bound is cut at this time first. */
  readonly start: Instant
  readonly loadRowsMax: number
  readonly walkAttemptsMax: number
}

export interface WalkPolicy {
  readonly cuts: 'freely' | 'never' | 'only one response is wanted'
  /** Whether to test the stored paging profile, in case the service has shortened its pages. */
  readonly checksProfile: boolean
}

export const WALK_POLICIES = {
  changes: { cuts: 'freely', checksProfile: true },
  /** Reads a report without bounds at first. This read is complete only if one response contains all rows. */
  'first look': { cuts: 'only one response is wanted', checksProfile: true },
  reread: { cuts: 'freely', checksProfile: true },
  reconcile: { cuts: 'freely', checksProfile: true },
  backfill: { cuts: 'freely', checksProfile: false },
  /** Audit entries have no key, so slices are not cut: an entry on the bound between two parts would count twice. */
  audit: { cuts: 'never', checksProfile: false },
} as const satisfies Record<string, WalkPolicy>

/** Results of the probes. A field is undefined until its probe has run. */
export interface ProbeResults {
  readonly firstNumber?: 'requested'
  /** `unclear`: page 0 has rows, but rows have moved since the walk. */
  readonly pageZero?: 'requested' | 'unclear'
  readonly lastPage?: CountedPages | 'not found'
  readonly loadParts?: Pick<CutPlan, 'parts' | 'partRows'>
  readonly hasMissedRows?: boolean
  readonly narrower?: NarrowerResult
  readonly partTotals?: 'add up' | 'differ'
}

/** `hidden`: a part has rows that the whole lacks. `moved`: rows were added. `one instant`: it fills a response. */
export type NarrowerResult = 'nothing new' | 'hidden' | 'moved' | 'one instant'

export interface CountedPages {
  readonly total: number
  readonly number: number
  readonly isShort: boolean
}

export interface SliceProgress {
  readonly readUpTo: 'page 1' | 'page 2' | 'the end'
  readonly attempt: number
  readonly previous?: Walk | undefined
  readonly backwardWalk?: Walk
  readonly page1Complete: Page1Completeness
  readonly firstNumberRequested: number
  readonly probes: ProbeResults
  readonly isLargePageRefused?: boolean
}

export interface SliceState extends SliceProgress {
  readonly walk: Walk
  readonly profile: PagingProfile
  readonly slice: Slice
  readonly policy: WalkPolicy
  readonly settings: WalkSettings
}

export type ProbeName =
  | 'first number'
  | 'page 0'
  | 'last page'
  | 'rows that were not counted'
  | 'narrower spans'
  | 'entries outside'
  | 'totals of parts'

export type PageOrder = 'page 2' | 'the pages of the total' | 'until a row moves' | 'to the end' | 'last page to first'

export type Verdict =
  | { readonly kind: 'proven'; readonly by: Proof; readonly walk: Walk }
  /** The modification times on the first `samples` pages decide where to cut. */
  | { readonly kind: 'cut'; readonly how: Omit<CutPlan, 'stamps' | 'pageRows'>; readonly samples: 1 | 2 }
  | { readonly kind: 'read'; readonly what: PageOrder }
  /** If `attempt` is 1, earlier walks of the slice began at the wrong page, and their results are dropped. */
  | { readonly kind: 'read again'; readonly attempt: number; readonly rowsAsked: number }
  | { readonly kind: 'probe'; readonly what: ProbeName }
  | { readonly kind: 'learn again' }
  | { readonly kind: 'give up'; readonly why: string | undefined }
