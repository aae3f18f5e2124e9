/** The high-water marks of a report (product contract §3). Each is named after its request parameter or column. */
import type { Declaration } from '../../schema/report.ts'
import { earliest, type Instant } from '../instant.ts'
import { merged, provenUpTo, type Span } from './spans.ts'
import { type Before, markAfter, reachesBack, type Window, type WindowRules } from './window.ts'

export type MarkName = 'modified_since' | 'aggregate_record_modified' | 'since'

/** `modified_since` is the mark of a report, `since` the mark of an audited record. */
export const READ_UP_TO = ['modified_since', 'since'] as const satisfies readonly MarkName[]

export function marksOf({ perRecord, newerBy }: Pick<Declaration, 'perRecord' | 'newerBy'>): readonly MarkName[] {
  if (perRecord !== undefined) return ['since']
  return newerBy.includes('aggregate_record_modified')
    ? ['modified_since', 'aggregate_record_modified']
    : ['modified_since']
}

export interface Marks {
  readonly before: Before
  readonly window: Window
  readonly rules: WindowRules
  /** The spans that the run has proven. The mark moves up to the first gap between them. */
  readonly proven: readonly Span[]
  readonly value: Instant | undefined
  /** The mark to store. Undefined if the service's clock was set back: rows before the window may be unread. */
  readonly moved: Instant | undefined
}

export const marksFrom = (before: Before, window: Window, rules: WindowRules): Marks => ({
  before,
  window,
  rules,
  proven: [],
  value: before.mark,
  moved: undefined,
})

/** Returns the marks after a proven slice. `clock`: the service's time in the first response. */
export function marksAfter(marks: Marks, span: Span, clock: Instant): Marks {
  const { before, window, rules } = marks
  const until = earliest(span.until, clock)
  const proven = merged([...marks.proven, { since: span.since, until }])
  const reached = provenUpTo(marks.value ?? window.since, proven) ?? until
  const value = markAfter(marks.value, { since: window.since, until: reached, clock }, rules.settleMs)
  const isMoved = clock === window.clock || reachesBack(window, before, { clock, rules })
  return { ...marks, proven, value, moved: isMoved ? value : undefined }
}
