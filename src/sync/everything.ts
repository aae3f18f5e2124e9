/** Reads a report without bounds of time: in its first run, and again after some changes of its configuration. */
import { KeySet } from '../plan/keySet.ts'
import { splitAt } from '../plan/spans.ts'
import { WALK_POLICIES } from '../plan/walkPolicy.ts'
import type { ProvenSlice } from './walk/provenSlices.ts'
import { type Reading, totalNow, totalOfCreated } from './walk/reading.ts'

/**
 * Yields everything as one slice, without bounds, since rows that were never edited may match no modification filter.
 * One response may contain everything. Otherwise everything is read by time of creation, which never changes, and the
 * totals with and without bounds show whether every row has such a time. If not, all pages are read by number.
 */
export async function* everySlice(reading: Reading): AsyncGenerator<ProvenSlice, void> {
  const first = await reading.everything(WALK_POLICIES['first look'])
  if (first.kind === 'proven') {
    yield first
    return
  }
  const byCreation = reading.asksCreated ? await readByCreation(reading, first.overfull.total) : undefined
  const everything = byCreation ?? (await reading.everything())
  if (everything.kind === 'proven') yield everything
}

/** Reads everything by time of creation; undefined if rows may have none. `total`: of the first response. */
async function readByCreation(reading: Reading, total: number | undefined): Promise<ProvenSlice | undefined> {
  const everything = { since: undefined, until: reading.plan.window.until }
  const { youngFrom, loadRowsMax } = reading.source.terms
  const keys = new KeySet()
  const proofs = new Set<string>()
  let rows = 0
  // Keys are compared only for few rows, because millions need much memory; a longer read can afford more requests.
  const isSmall = (total ?? Infinity) <= loadRowsMax
  // The old part can be read page by page, so it is read separately.
  const spans = splitAt(everything, youngFrom) ?? [everything]
  for await (const slice of reading.slices('created', spans)) {
    rows += slice.rows
    proofs.add(slice.proof)
    // A row at the common bound of two spans is read twice, and would hide a row without a time of creation.
    if (isSmall) for (const key of slice.keys) keys.add(key)
  }
  await reading.intake.commit()
  const isQuiet = isSmall && total === keys.size && !proofs.has('agreed')
  // All rows have a time of creation if the rows read so are as many as the total without bounds, before and after.
  const isSame = isQuiet && (await totalNow(reading)) === keys.size
  const totalCount = isSame ? keys.size : await totalOfCreated(reading)
  const proof = [...proofs].toSorted().join('+')
  return totalCount === undefined ? undefined : { kind: 'proven', span: everything, proof, rows, totalCount, keys }
}
