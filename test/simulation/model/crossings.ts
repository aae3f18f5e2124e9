/**
 * Old spans of bare arrays that a row entered and a row left while their pages were read. A third row may then be on no
 * page, and the number of rows does not show it (docs/PROOFS.md, assumption A3). Only a reconcile finds it.
 */
import type { Recorded } from '../scenario.ts'
import type { Micros, ModelRecord, Version } from './record.ts'

interface Bounds {
  readonly report: Recorded
  readonly scope: string
  readonly since: Micros
  readonly until: Micros
}

interface PageTime {
  readonly at: Micros
  /** The place of the page among the pages of the span, from 1. */
  readonly place: number
  readonly hasRows: boolean
}

/** Pages between two bounds that were returned one soon after the other. */
interface PagesRead extends Bounds {
  readonly shown: PageTime[]
}

/** Two requests of one walk are not further apart: minutes until an answer begins. */
const APART_MAX = 150 * 1_000_000

const isIn = ({ since, until }: Bounds, { stamp, ownStamp }: Version): boolean =>
  [stamp, ownStamp].some((at) => at !== undefined && at >= since && at <= until)

export class Crossings {
  readonly #read: PagesRead[] = []

  /** Records that one of several pages was returned. */
  shows(bounds: Bounds, page: PageTime): void {
    const { report, scope, since, until } = bounds
    const last = this.#read.findLast(
      (each) => each.report === report && each.scope === scope && each.since === since && each.until === until,
    )
    const before = last?.shown.at(-1)?.at
    if (last !== undefined && before !== undefined && page.at - before <= APART_MAX) last.shown.push(page)
    else this.#read.push({ ...bounds, shown: [page] })
  }

  /** Returns whether the version was in a span that one row entered, with a stamp of long ago, and one left meanwhile. */
  mayHide(
    place: { readonly report: Recorded; readonly scope: string; readonly overlapMs: number },
    version: Version,
    records: Iterable<ModelRecord>,
  ): boolean {
    const all = [...records]
    return this.#read.some((read) => {
      if (read.report !== place.report || read.scope !== place.scope || !isIn(read, version)) return false
      const isOld = ({ after }: Change) => read.until < after.committedAt - place.overlapMs * 1_000
      return betweenEnds(read.shown).some(([from, to]) => {
        const changes = changesOf(all, from, to)
        const entered = changes.filter((each) => !isIn(read, each.before) && isIn(read, each.after) && isOld(each))
        const left = changes.filter(({ before, after }) => isIn(read, before) && !isIn(read, after))
        return entered.length > 0 && left.length >= entered.length
      })
    })
  }
}

/** Returns the times between two looks at the end of a span, before and after all of its pages were read back. */
function betweenEnds(shown: readonly PageTime[]): (readonly [Micros, Micros])[] {
  const last = Math.max(...shown.flatMap(({ place, hasRows }) => (hasRows ? [place] : [])))
  return shown.flatMap((page, n) => {
    if (page.place !== 1) return []
    // Before a full last page is read back, the page behind it is read.
    const from = shown.slice(0, n).findLast(({ place, hasRows }) => place > last || (place === last && hasRows))
    const to = shown.slice(n).find(({ place }) => place >= last)
    return from === undefined || to === undefined ? [] : [[from.at, to.at] as const]
  })
}

interface Change {
  readonly before: Version
  readonly after: Version
}

const changesOf = (records: readonly ModelRecord[], from: Micros, to: Micros): Change[] =>
  records.flatMap(({ versions }) =>
    versions.flatMap((after, n) => {
      const before = versions[n - 1]
      const isMeanwhile = after.committedAt >= from && after.committedAt <= to
      return before === undefined || !isMeanwhile ? [] : [{ before, after }]
    }),
  )
