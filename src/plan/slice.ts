/** A slice of a span while it is read: what was seen of it, and the verdicts that src/plan/judge.ts returns. */
import type { Instant } from '../instant.ts'
import type { Claim, PagingProfile } from './pagingProfile.ts'
import type { Overfull } from './spanQueue.ts'
import type { Span } from './spans.ts'
import type { Proof, Walk } from './walk.ts'
import type { WalkPolicy } from './walkPolicy.ts'

/** A part of a span that is proven by itself. */
export interface Slice {
  /** Undefined: everything, without bounds. */
  readonly span: Span | undefined
  /** Rows that the slice probably holds, by totals or by places of pages. */
  readonly rowsExpected?: number | undefined
  /** Many rows of one instant: they are walked page by page, twice, although the slice could be cut. */
  readonly heap?: 'somewhere' | 'at its end' | undefined
  /** Whether an old slice without a total may be counted by the place of its last page. */
  readonly mayCount?: boolean
}

/** What is the same for all slices of a report in one run. */
export interface WalkTerms {
  readonly answer: 'envelope' | 'array'
  /** Rows carry a key of their own; audit entries do not. */
  readonly keyed: boolean
  readonly pageSize: number
  /** Rows from here on may still be committed late. */
  readonly youngFrom: Instant
  /** Where a span without a lower bound is cut. */
  readonly floor: Instant
  readonly loadRowsMax: number
  readonly walkAttemptsMax: number
}

/** What the probes of a walk have found; undefined until a probe was made. */
export interface Findings {
  readonly firstNumber?: 'asked'
  readonly pageZero?: 'asked'
  /** Where the last page is, or how the span is cut because more than a load precedes it. */
  readonly lastPage?: CountedPages | Pick<Overfull, 'parts' | 'partRows'> | 'not found'
  /** The walk back from that page. */
  readonly counted?: Walk
  /** Whether rows are behind the last page, or entries outside of all that the walks brought. */
  readonly hidden?: boolean
  /** Sum of the totals of the parts of the span. */
  readonly partTotals?: number
}

export interface CountedPages {
  /** The most rows that can be on these pages. */
  readonly total: number
  readonly number: number
  /** Whether the last page has fewer rows than the others. */
  readonly isShort: boolean
}

/** What was read and asked for a slice so far. */
export interface Evidence {
  /** How much of the latest walk was read. */
  readonly stage: 'page 1' | 'page 2' | 'the end'
  /** Number of the latest walk, from 1. */
  readonly attempt: number
  readonly walk: Walk
  readonly previous?: Walk | undefined
  /** What page 1 said when it came. */
  readonly claim: Claim
  /** The number under which page 1 was requested. */
  readonly sentNumber: number
  readonly found: Findings
  /** A larger page than usual was refused: there is nothing else to try. */
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
  | 'entries outside'
  | 'totals of parts'

/** Which pages are read next. The pages that a total calls for are read side by side. */
export type PageOrder = 'page 2' | 'the pages of the total' | 'to the end' | 'last page to first'

export type Verdict =
  | { readonly kind: 'proven'; readonly by: Proof; readonly walk: Walk }
  /** `samples`: how many of the first pages show where the rows are. */
  | { readonly kind: 'cut'; readonly how: Omit<Overfull, 'stamps' | 'pageRows'>; readonly samples: 1 | 2 }
  | { readonly kind: 'read'; readonly what: PageOrder }
  /** Another walk; `attempt` 1: all that was seen is void. */
  | { readonly kind: 'read again'; readonly attempt: number; readonly rowsAsked: number }
  | { readonly kind: 'probe'; readonly what: ProbeName }
  /** An answer contradicts the profile, which is learnt again. */
  | { readonly kind: 'learn again' }
  | { readonly kind: 'give up'; readonly why: string | undefined }
