/** Scans a page in slices, so that timers, leases and other responses are not delayed. One catalogue, one scan. */
import type { ObjectCatalog } from './catalog.ts'
import { type ScannedPage, type ScanPlan, slicesOf } from './scanPage.ts'

const tails = new WeakMap<ObjectCatalog, Promise<unknown>>()

/** Scans a page and calls `nextTurn` between slices. Throws `MalformedJson` for bytes that are not the report's JSON. */
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
