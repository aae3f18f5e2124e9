/** A slice of a span during its reading: what was seen of it, and the verdicts of src/plan/judge.ts. */
import type { Instant } from '../instant.ts'
import type { Claim, PagingProfile } from './pagingProfile.ts'
import type { Overfull } from './spanQueue.ts'
import type { Span } from './spans.ts'
import type { Proof, Walk } from './walk.ts'
import type { WalkPolicy } from './walkPolicy.ts'

/** A part of a span that is proven by itself. */
export interface Slice {
  /** The time of the slice; undefined: all rows, without bounds. */
  readonly span: Span | undefined
  /** The probable number of rows, derived from totals or places of pages. */
  readonly rowsExpected?: number | undefined
  /** Set if many rows are at one instant. They are walked page by page, twice, although the slice could be cut. */
  readonly heap?: 'somewhere' | 'at its end' | undefined
  /** Whether the rows of an old slice without a total may be counted by the place of its last page. */
  readonly mayCount?: boolean
}

/** What all slices of a report have in common in one run. */
export interface WalkTerms {
  readonly answer: 'envelope' | 'array'
  readonly keyed: boolean
  readonly pageSize: number
  /** Rows with a time from here on may still be committed late. */
  readonly youngFrom: Instant
  /** The time at which a span without a lower bound is cut. */
  readonly floor: Instant
  readonly loadRowsMax: number
  readonly walkAttemptsMax: number
}

/** Results of the test requests (probes) for a slice. A field is undefined until its probe was made. */
export interface Findings {
  readonly firstNumber?: 'asked'
  readonly pageZero?: 'asked'
  /** The place of the last page; or the parts of the span, if more than a load is before that page. */
  readonly lastPage?: CountedPages | Pick<Overfull, 'parts' | 'partRows'> | 'not found'
  /** The walk back from that page. */
  readonly counted?: Walk
  /** Whether there are rows after the last page, or entries before or after those of the walks. */
  readonly hidden?: boolean
  /** The result of narrower requests, which show whether a response that seems complete lacks rows. */
  readonly narrower?: NarrowerFinding
  /** Sum of the totals of the parts of the span. */
  readonly partTotals?: number
}

/**
 * `hidden`: a part has a row that the response lacks. `moved`: that row was added meanwhile, or too many requests were
 * needed. `one instant`: at least as many rows as the response has are at one instant, which cannot be cut further.
 */
export type NarrowerFinding = 'nothing new' | 'hidden' | 'moved' | 'one instant'

export interface CountedPages {
  /** The maximum number of rows on these pages. */
  readonly total: number
  readonly number: number
  /** Whether the last page has fewer rows than the others. */
  readonly isShort: boolean
}

/** All that is known of a slice so far: its walks and the results of its probes. */
export interface Evidence {
  /** How much of the latest walk was read. */
  readonly stage: 'page 1' | 'page 2' | 'the end'
  /** Number of the latest walk, from 1. */
  readonly attempt: number
  readonly walk: Walk
  readonly previous?: Walk | undefined
  /** The claim of page 1 when it was read. */
  readonly claim: Claim
  /** The page number that was sent in the request for page 1: 0 or 1. */
  readonly sentNumber: number
  readonly found: Findings
  /** True if the service refused a page larger than usual, so that there is nothing else to try. */
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
  | 'rows behind the last page'
  | 'narrower spans'
  | 'entries outside'
  | 'totals of parts'

/** The pages to read next. The pages of a total are read several at once. */
export type PageOrder = 'page 2' | 'the pages of the total' | 'to the end' | 'last page to first'

export type Verdict =
  | { readonly kind: 'proven'; readonly by: Proof; readonly walk: Walk }
  /** `samples`: how many of the first pages show the distribution of rows. */
  | { readonly kind: 'cut'; readonly how: Omit<Overfull, 'stamps' | 'pageRows'>; readonly samples: 1 | 2 }
  | { readonly kind: 'read'; readonly what: PageOrder }
  /** Another walk. With `attempt` 1, everything read so far is void. */
  | { readonly kind: 'read again'; readonly attempt: number; readonly rowsAsked: number }
  | { readonly kind: 'probe'; readonly what: ProbeName }
  /** A response contradicts the profile, which is learned again. */
  | { readonly kind: 'learn again' }
  | { readonly kind: 'give up'; readonly why: string | undefined }
