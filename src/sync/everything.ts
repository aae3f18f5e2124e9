/** Reads all rows of a report, without bounds of time: in its first run, and after some configuration changes. */
import { KeySet } from '../plan/keySet.ts'
import { splitAt } from '../plan/spans.ts'
import { WALK_POLICIES } from '../plan/walkPolicy.ts'
import type { ProvenSlice } from './walk/provenSlices.ts'
import { type Reading, totalNow, totalOfCreated } from './walk/reading.ts'

/**
 * Yields all rows as one slice, without bounds, since rows that were never edited may match no modification filter. One
 * response may have all rows. Otherwise they are read by creation time, which never changes, and the totals with and
 * without bounds show whether every row has a creation time. If some have none, all pages are read by number.
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

/** Reads all rows by creation time; undefined if some may lack that time. `total`: the total of the first response. */
async function readByCreation(reading: Reading, total: number | undefined): Promise<ProvenSlice | undefined> {
  const everything = { since: undefined, until: reading.plan.window.until }
  const { youngFrom, loadRowsMax } = reading.source.terms
  const keys = new KeySet()
  const proofs = new Set<string>()
  let rows = 0
  // Keys are only compared if there are few rows, because millions of keys need much memory. Else totals are compared.
  const isSmall = (total ?? Infinity) <= loadRowsMax
  // The part before `youngFrom` is separate because it can be read page by page.
  const spans = splitAt(everything, youngFrom) ?? [everything]
  for await (const slice of reading.slices('created', spans)) {
    rows += slice.rows
    proofs.add(slice.proof)
    // A row on the common bound of two spans is read twice; counted twice, it would hide a row without a creation time.
    if (isSmall) for (const key of slice.keys) keys.add(key)
  }
  await reading.intake.commit()
  const isQuiet = isSmall && total === keys.size && !proofs.has('agreed')
  // If the total without bounds equals the number of rows, before and after the read, all rows have a creation time.
  const isSame = isQuiet && (await totalNow(reading)) === keys.size
  const totalCount = isSame ? keys.size : (await totalOfCreated(reading)).total
  const proof = [...proofs].toSorted().join('+')
  return totalCount === undefined ? undefined : { kind: 'proven', span: everything, proof, rows, totalCount, keys }
}
