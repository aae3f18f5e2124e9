/**
 * Scans a page a slice at a time, so that a large one doesn't keep this process's one thread from timers, leases and
 * other answers. Pages with one catalogue take turns as a whole: a scan walks the catalogue's trie, which another
 * changes.
 */
import type { ObjectCatalog } from './catalog.ts'
import { type ScannedPage, type ScanPlan, slicesOf } from './scanPage.ts'

const tails = new WeakMap<ObjectCatalog, Promise<unknown>>()

/** Calls `nextTurn` between slices. Throws `Malformed` when the bytes are not the JSON that the report promises. */
export function scanInSlices(bytes: Buffer, plan: ScanPlan, nextTurn: () => Promise<void>): Promise<ScannedPage> {
  const before = tails.get(plan.catalog) ?? Promise.resolve()
  const scan = before.then(() => scanned(bytes, plan, nextTurn))
  tails.set(
    plan.catalog,
    scan.catch(() => undefined),
  )
  return scan
}

async function scanned(bytes: Buffer, plan: ScanPlan, nextTurn: () => Promise<void>): Promise<ScannedPage> {
  const slices = slicesOf(bytes, plan)
  let slice = slices.next()
  while (slice.done !== true) {
    await nextTurn()
    slice = slices.next()
  }
  return slice.value
}
