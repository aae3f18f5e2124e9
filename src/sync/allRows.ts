/** Reads all rows of a report: in its first run, in a reconcile, and after some changes of settings. */
import { DAY_MS, earliest, type Instant, plusMs } from '../instant.ts'
import { KeySet } from '../plan/keySet.ts'
import { type Span, splitAt, youngFrom } from '../plan/spans.ts'
import type { SyncContext } from './context.ts'
import type { ProvenSlice } from './walk/provenSlices.ts'
import { type Reading, totalNow, totalOfCreated } from './walk/reading.ts'
import { readServiceTime } from './walk/serviceTime.ts'

/** Rows may have modification times up to this far in the future, because a wrong clock may have set them. */
const FUTURE_MS = 100 * 366 * DAY_MS

/** Reads all rows as one slice: from one response, else by creation time, else by page. */
export async function readAllRows(reading: Reading): Promise<ProvenSlice> {
  const first = await reading.readOneResponse()
  if (first.kind === 'proven') return first
  const byCreation = reading.asksCreated ? await readByCreation(reading, first.plan.total) : undefined
  return byCreation ?? (await reading.readUnbounded())
}

/** Returns undefined if rows may lack a creation time. `total`: the first response's total. */
async function readByCreation(reading: Reading, total: number | undefined): Promise<ProvenSlice | undefined> {
  const span = reading.unbounded
  const { youngFrom, loadRowsMax } = reading.source.settings
  const keys = new KeySet()
  const proofs = new Set<string>()
  let rows = 0
  // Millions of keys take a lot of memory, so keys are compared only if there are few rows.
  const isSmall = (total ?? Infinity) <= loadRowsMax
  // The old part is read separately, because it rarely changes, so that a total can prove it complete.
  const spans = splitAt(span, youngFrom) ?? [span]
  for await (const slice of reading.slices('created', spans)) {
    rows += slice.rows
    proofs.add(slice.proof)
    // A row on the bound between two slices is read twice. Counted twice, it could hide a missing row.
    if (isSmall) for (const key of slice.keys) keys.add(key)
  }
  await reading.intake.commit()
  const isQuiet = isSmall && total === keys.size && !proofs.has('agreed')
  // All rows were read if the total equals the number of keys, and was the same before the read.
  const now = isQuiet ? await totalNow(reading) : undefined
  const totalCount = now === keys.size ? now : (await totalOfCreated(reading, now)).total
  const proof = [...proofs].toSorted().join('+')
  return totalCount === undefined ? undefined : { kind: 'proven', span, proof, rows, totalCount, keys }
}

/** Reads the spans by creation time if possible, because a creation time never changes. */
export async function readSpans(reading: Reading, spans: readonly Span[], serviceTime: Instant): Promise<void> {
  const timeFilter = reading.plan.declaration.window.required ? 'window' : 'created'
  for await (const slice of reading.slices(timeFilter, spans)) {
    await reading.close(slice, { knownUntil: serviceTime, reached: earliest(slice.span.until, serviceTime) })
  }
}

/** Reads rows that were added or edited since `startedAt`. Includes times in the future, which a service may store. */
export async function readNewest(context: SyncContext, reading: Reading, startedAt: Instant): Promise<void> {
  const { declaration, config, scope } = reading.plan
  const serviceTime = await readServiceTime(context, declaration, { currency: scope })
  const since = youngFrom(startedAt, config.overlapMs)
  await readSpans(reading, [{ since, until: plusMs(serviceTime, FUTURE_MS) }], serviceTime)
  await reading.intake.commit()
}
