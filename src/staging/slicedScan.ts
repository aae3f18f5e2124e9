/**
 * Scans a page in slices, so that a large page does not delay timers, leases and other responses. Pages with the same
 * catalogue are scanned one after the other, because each scan changes the catalogue's trie.
 */
import type { ObjectCatalog } from './catalog.ts'
import { type ScannedPage, type ScanPlan, slicesOf } from './scanPage.ts'

const tails = new WeakMap<ObjectCatalog, Promise<unknown>>()

/**
 * Scans a page and calls `nextTurn` between slices. Throws `MalformedJson` if the bytes are not valid JSON, or if the
 * JSON contains no rows.
 */
export function scanInSlices(bytes: Buffer, plan: ScanPlan, nextTurn: () => Promise<void>): Promise<ScannedPage> {
  const before = tails.get(plan.catalog) ?? Promise.resolve()
  const scan = before.then(() => scanSlices(bytes, plan, nextTurn))
  const settled = scan.catch(() => undefined)
  tails.set(plan.catalog, settled)
  return scan
}

async function scanSlices(bytes: Buffer, plan: ScanPlan, nextTurn: () => Promise<void>): Promise<ScannedPage> {
  const slices = slicesOf(bytes, plan)
  let slice = slices.next()
  while (slice.done !== true) {
    await nextTurn()
    slice = slices.next()
  }
  return slice.value
}
