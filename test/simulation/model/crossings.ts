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

/** Requests for several pages between two bounds, one soon after the other. */
interface PagesRead extends Bounds {
  readonly from: Micros
  to: Micros
}

/** Two requests of one walk are not further apart: minutes until an answer begins. */
const APART_MAX = 150 * 1_000_000

const isIn = ({ since, until }: Bounds, { stamp, ownStamp }: Version): boolean =>
  [stamp, ownStamp].some((at) => at !== undefined && at >= since && at <= until)

export class Crossings {
  readonly #read: PagesRead[] = []

  /** Records that one of several pages was returned. */
  shows(bounds: Bounds, now: Micros): void {
    const { report, scope, since, until } = bounds
    const last = this.#read.findLast(
      (each) => each.report === report && each.scope === scope && each.since === since && each.until === until,
    )
    if (last !== undefined && now - last.to <= APART_MAX) last.to = now
    else this.#read.push({ ...bounds, from: now, to: now })
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
      const changes = all.flatMap(({ versions }) =>
        versions.flatMap((after, n) => {
          const before = versions[n - 1]
          const isMeanwhile = after.committedAt >= read.from && after.committedAt <= read.to
          return before === undefined || !isMeanwhile
            ? []
            : [{ before: isIn(read, before), after: isIn(read, after), at: after.committedAt }]
        }),
      )
      const isOld = (at: Micros) => read.until < at - place.overlapMs * 1_000
      return (
        changes.some(({ before, after, at }) => !before && after && isOld(at)) &&
        changes.some(({ before, after }) => before && !after)
      )
    })
  }
}
