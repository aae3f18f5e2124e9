/** Limits how much work runs at the same time. */

/** Calls `work` for all items, at most `atOnce` at a time. After an error, starts no further item and throws it. */
export async function eachBounded<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0
  let failed = false
  const lane = async () => {
    while (!failed && next < items.length) {
      const item = items[next] as T
      next += 1
      try {
        await work(item)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, lane))
  const broken = lanes.find((each) => each.status === 'rejected')
  if (broken !== undefined) throw broken.reason
}
