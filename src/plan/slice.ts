/** What is known about a slice (part of a window) while it is being read, and the verdicts of src/plan/judge.ts. */
import type { Instant } from '../instant.ts'
import type { Claim, PagingProfile } from './pagingProfile.ts'
import type { Overfull } from './spanQueue.ts'
import type { Span } from './spans.ts'
import type { Proof, Walk } from './walk.ts'

export interface Slice {
  readonly span: Span | undefined
  /** The probable number of rows, computed from totals or page numbers. Undefined if the number is unknown. */
  readonly rowsExpected?: number | undefined
  /** Set if many rows of the slice have the same time (a heap). A cut can't separate them, so pages are read twice. */
  readonly heap?: 'somewhere' | 'at its end' | undefined
  /** Whether an old slice may be counted by its pages. Example: 3 full pages of 500 rows and a last page of 20 rows. */
  readonly mayCount?: boolean
}

export interface WalkTerms {
  readonly answer: 'envelope' | 'array'
  readonly keyed: boolean
  readonly pageSize: number
  /** Rows modified at this time or later are young: more rows with such times can still appear. */
  readonly youngFrom: Instant
  /** The report's `start`. A span without a lower bound has no middle, so it is cut at this time. */
  readonly floor: Instant
  readonly loadRowsMax: number
  readonly walkAttemptsMax: number
}

export interface WalkPolicy {
  /** `never`: rows have no key, so a row on the bound between two parts would count twice. */
  readonly cuts: 'freely' | 'never' | 'only one response is wanted'
  /** Whether to test the stored paging profile before using it, in case the service has shortened its pages. */
  readonly checksProfile: boolean
}

export const WALK_POLICIES = {
  changes: { cuts: 'freely', checksProfile: true },
  /** The first try to read a report without bounds. It is complete only if one response contains all rows. */
  'first look': { cuts: 'only one response is wanted', checksProfile: true },
  reread: { cuts: 'freely', checksProfile: true },
  reconcile: { cuts: 'freely', checksProfile: true },
  /** A backfill trusts the stored profile, which saves a request per window. Incremental runs check the profile. */
  backfill: { cuts: 'freely', checksProfile: false },
  audit: { cuts: 'never', checksProfile: false },
} as const satisfies Record<string, WalkPolicy>

/** Results of the extra requests (probes) for a slice. A field is undefined until its probe has run. */
export interface Findings {
  readonly firstNumber?: 'asked'
  /** `unclear`: page 0 has rows, but rows have moved since the walk, so it may not be the first page. */
  readonly pageZero?: 'asked' | 'unclear'
  /** The last page, or how to split a span that is too large for one load. `not found`: the search was inconclusive. */
  readonly lastPage?: CountedPages | Pick<Overfull, 'parts' | 'partRows'> | 'not found'
  readonly counted?: Walk
  /** True if a probe found rows that the walk did not return. */
  readonly hidden?: boolean
  readonly narrower?: NarrowerFinding
  readonly partTotals?: 'add up' | 'differ'
}

/**
 * The result of requests for parts of the span. `hidden`: a part has rows that the response for the whole span lacks.
 * `moved`: uncertain, because rows were added meanwhile or too many requests are needed. `one instant`: the rows of one
 * instant alone fill a response, so the span cannot be halved further.
 */
export type NarrowerFinding = 'nothing new' | 'hidden' | 'moved' | 'one instant'

export interface CountedPages {
  readonly total: number
  readonly number: number
  readonly isShort: boolean
}

export interface Evidence {
  readonly stage: 'page 1' | 'page 2' | 'the end'
  readonly attempt: number
  readonly walk: Walk
  readonly previous?: Walk | undefined
  readonly claim: Claim
  readonly sentNumber: number
  readonly found: Findings
  /** True if the service refused a request for all rows on one large page. Tidemark then gives up on the slice. */
  readonly isRefused?: boolean
}

export interface Case {
  readonly profile: PagingProfile
  readonly slice: Slice
  readonly policy: WalkPolicy
  readonly terms: WalkTerms
  readonly seen: Evidence
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
  /** The slice must be cut. The modification times on its first `samples` pages decide where. */
  | { readonly kind: 'cut'; readonly how: Omit<Overfull, 'stamps' | 'pageRows'>; readonly samples: 1 | 2 }
  | { readonly kind: 'read'; readonly what: PageOrder }
  /** Starts another walk. `attempt` 1 drops all earlier results of the slice, because they began at the wrong page. */
  | { readonly kind: 'read again'; readonly attempt: number; readonly rowsAsked: number }
  | { readonly kind: 'probe'; readonly what: ProbeName }
  /** A response contradicts the paging profile, so the length of a full page is learned again. */
  | { readonly kind: 'learn again' }
  | { readonly kind: 'give up'; readonly why: string | undefined }
