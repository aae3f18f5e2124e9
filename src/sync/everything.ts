/** Reads a report without bounds: its first run, and what is read again where the question changed. */
import { KeySet } from '../plan/keySet.ts'
import { splitAt } from '../plan/spans.ts'
import { WALK_POLICIES } from '../plan/walkPolicy.ts'
import type { ProvenSlice } from './walk/provenSlices.ts'
import { type Reading, totalNow, totalOfCreated } from './walk/reading.ts'

/**
 * Yields everything as one slice. Without bounds, since rows that were never edited may match no modification filter. One
 * response may hold it all. Otherwise it is read by time of creation, which never changes, and the totals with and without
 * bounds show whether every row has such a time. If not, everything is walked by page number.
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

/** Reads everything by time of creation. `total`: of the first answer. Undefined: rows may have no such time. */
async function readByCreation(reading: Reading, total: number | undefined): Promise<ProvenSlice | undefined> {
  const everything = { since: undefined, until: reading.plan.window.until }
  const { youngFrom, loadRowsMax } = reading.source.terms
  const keys = new KeySet()
  const proofs = new Set<string>()
  let rows = 0
  // In a longer walk a few requests more are nothing, and keys by the million take much memory.
  const isSmall = (total ?? Infinity) <= loadRowsMax
  // The old part can be read page by page, so it is asked for by itself.
  const spans = splitAt(everything, youngFrom) ?? [everything]
  for await (const slice of reading.slices('created', spans)) {
    rows += slice.rows
    proofs.add(slice.proof)
    // A row at the instant where two spans meet comes twice; counted twice, it could make up for one without a creation time.
    if (isSmall) for (const key of slice.keys) keys.add(key)
  }
  await reading.intake.commit()
  const isQuiet = isSmall && total === keys.size && !proofs.has('agreed')
  // There are as many rows with a creation time as there were in all before they were read. If there still are, that is all.
  const isSame = isQuiet && (await totalNow(reading)) === keys.size
  const totalCount = isSame ? keys.size : await totalOfCreated(reading)
  const proof = [...proofs].toSorted().join('+')
  return totalCount === undefined ? undefined : { kind: 'proven', span: everything, proof, rows, totalCount, keys }
}
