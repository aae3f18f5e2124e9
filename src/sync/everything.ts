/** Reads a report without bounds: its first run, and what is read again where the question changed. */
import { KeySet } from '../plan/keySet.ts'
import { type Span, splitAt, youngFrom } from '../plan/spans.ts'
import type { Marks } from './marks.ts'
import { type Scope, totalNow, totalOfCreated } from './walk/scope.ts'
import type { ProvenAs } from './walk/windowReader.ts'

/**
 * The first run of a report that needs no bounds reads without them: rows that were never edited may match no
 * modification filter. One response may hold it all; else it is read by time of creation, which never changes, and the
 * totals with and without bounds say whether every row has such a time. If not, everything is walked.
 */
export async function readEverything(scope: Scope, marks: Marks): Promise<void> {
  const { declaration, config, window } = scope.parts
  const everything: Span = { since: undefined, until: window.until }
  const first = await scope.proveSingle()
  if (first.kind === 'proven') return marks.close(everything, first)
  const hasCreated = config.askCreated && declaration.created !== undefined
  const byCreation = hasCreated ? await readByCreation(scope, everything, first.overfull.total) : undefined
  const proven = byCreation ?? (await scope.proveEverything())
  if (proven !== undefined) await marks.close(everything, proven)
}

/**
 * Reads everything by time of creation; `total` is what the first answer told. Gives how it was proven; undefined where
 * rows may have no such time.
 */
async function readByCreation(
  scope: Scope,
  everything: Span,
  total: number | undefined,
): Promise<ProvenAs | undefined> {
  const { config, window } = scope.parts
  const sum = { rows: 0, proofs: new Set<string>(), keys: new KeySet() }
  // In a longer walk a few requests more are nothing, and keys by the million are much.
  const isSmall = (total ?? Infinity) <= scope.context.settings.limits.loadRowsMax
  // The old part can be read page by page, so it is asked for by itself.
  const spans = splitAt(everything, youngFrom(window.clock, config.overlapMs)) ?? [everything]
  await scope.proveAll('created', spans, (_, proven) => {
    sum.rows += proven.rows
    sum.proofs.add(proven.proof)
    // A row on the instant where two spans meet came twice; counted so, it could stand in for one without a creation time.
    if (isSmall) for (const key of proven.keys) sum.keys.add(key)
    return Promise.resolve()
  })
  await scope.intake.commit()
  const isQuiet = isSmall && total === sum.keys.size && !sum.proofs.has('agreed')
  // As many rows with a creation time as there were in all before they were read: if there still are, nothing more is asked.
  const isSame = isQuiet && (await totalNow(scope)) === sum.keys.size
  const totalCount = isSame ? sum.keys.size : await totalOfCreated(scope)
  return totalCount === undefined
    ? undefined
    : { proof: [...sum.proofs].toSorted().join('+'), rows: sum.rows, totalCount }
}
