/** The rules are in src/plan/judge.ts. */
import { hidesAtOneInstant, isShort, nextSize } from './caseFacts.ts'
import type { PagingProfile } from './pagingProfile.ts'
import type { Case, Verdict } from './slice.ts'
import type { Proof, Walk } from './walk.ts'

export interface Rule {
  readonly name: string
  readonly verdict: string
  /** The heading in docs/PROOFS.md of the section that proves the rule. */
  readonly argued: string
  readonly apply: (given: Case) => Verdict | false
  readonly learns?: (given: Case) => PagingProfile
}

export const SINGLE = '`single`: one response contains everything'
export const TOTAL = '`total`: as many rows as there can be'
export const AGREED = '`agreed`: two walks returned the same rows'
export const ODD = 'Appendix A: odd services'
export const COST = 'Appendix C: what it costs'

export const READ_PAGE_2: Verdict = { kind: 'read', what: 'page 2' }
export const READ_TO_THE_END: Verdict = { kind: 'read', what: 'to the end' }

export const cut = (how: (Verdict & { kind: 'cut' })['how'] = {}, samples: 1 | 2 = 1): Verdict => ({
  kind: 'cut',
  how,
  samples,
})
export const proven = (by: Proof, walk: Walk): Verdict => ({ kind: 'proven', by, walk })
export const probe = (what: (Verdict & { kind: 'probe' })['what']): Verdict => ({ kind: 'probe', what })

export const readAgain = (given: Case): Verdict => ({
  kind: 'read again',
  attempt: given.seen.attempt + 1,
  rowsAsked: nextSize(given),
})

export function giveUp(given: Case): Verdict {
  const { walk } = given.seen
  const refusal = walk.cutOff(given.profile)
  if (refusal !== undefined) return { kind: 'give up', why: `the next page is refused: ${refusal.message}` }
  if (isShort(given))
    return { kind: 'give up', why: `the service counts ${walk.leastTotal} rows, but its pages have ${walk.distinct}` }
  const why = 'the service ignores pageNumber, and one instant has as many rows as a response'
  return { kind: 'give up', why: hidesAtOneInstant(given) ? why : undefined }
}
