/** Limits how much work runs at the same time. */

/** Calls `work` for all items, at most `atOnce` at a time. Stops at the first error and throws it. */
export async function eachConcurrently<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>) {
  // All lanes share this iterator. If one throws, the iterator ends for all.
  const rest = items.values().map((item) => item)
  const lane = async () => {
    for (const item of rest) await work(item)
  }
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, lane))
  const broken = lanes.find((each) => each.status === 'rejected')
  if (broken !== undefined) throw broken.reason
}
