/** The high-water marks of a report (product contract §3). Each is named after its request parameter or column. */
import type { Declaration } from '../../schema/report.ts'
import { earliest, type Instant } from '../instant.ts'
import { merged, provenUpTo, type Span } from './spans.ts'
import { type PreviousRun, markAfter, reachesBack, type Window, type WindowRules } from './window.ts'

export type MarkName = 'modified_since' | 'aggregate_record_modified' | 'since'

/** The marks that show how far a report (`modified_since`) or an audited record (`since`) was read. */
export const WINDOW_MARKS = ['modified_since', 'since'] as const satisfies readonly MarkName[]

export function markNamesOf({ perRecord, newerBy }: Pick<Declaration, 'perRecord' | 'newerBy'>): readonly MarkName[] {
  if (perRecord !== undefined) return ['since']
  return newerBy.includes('aggregate_record_modified')
    ? ['modified_since', 'aggregate_record_modified']
    : ['modified_since']
}

/** The mark of a report, currency or audited record, while a run moves it. */
export interface MarkProgress {
  readonly previous: PreviousRun
  readonly window: Window
  readonly rules: WindowRules
  /** The spans that the run has proven complete. The mark moves to the end of the first span with a gap after it. */
  readonly proven: readonly Span[]
  readonly mark: Instant | undefined
  /** The mark that is safe to store. Undefined if the service's clock was set back: earlier rows may be unread. */
  readonly markToStore: Instant | undefined
}

export const markAtStart = (previous: PreviousRun, window: Window, rules: WindowRules): MarkProgress => ({
  previous,
  window,
  rules,
  proven: [],
  mark: previous.mark,
  markToStore: undefined,
})

/** Returns the mark after a proven slice. `serviceTime`: the service's clock in the first response. */
export function markAfterSlice(progress: MarkProgress, span: Span, serviceTime: Instant): MarkProgress {
  const { previous, window, rules } = progress
  const until = earliest(span.until, serviceTime)
  const proven = merged([...progress.proven, { since: span.since, until }])
  const reached = provenUpTo(progress.mark ?? window.since, proven) ?? until
  const mark = markAfter(progress.mark, { since: window.since, until: reached, serviceTime }, rules.settleMs)
  const isSure = serviceTime === window.serviceTime || reachesBack(window, previous, { serviceTime, rules })
  return { ...progress, proven, mark, markToStore: isSure ? mark : undefined }
}
