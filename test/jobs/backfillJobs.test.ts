/** Two requests for one range of a backfill must find one job, also before the first one is in the queue. */
import { expect, it } from 'vitest'
import { openBackfillJobs } from '../../jobs/backfill/backfillJobs.ts'
import type { Instant } from '../../src/instant.ts'

const START = 1_000_000 as Instant
const NOW = 9_000_000 as Instant

it('two requests for one range at once find the same backfill, and a later one begins another', async () => {
  const withBackfillJobs = openBackfillJobs({
    books: { open: () => Promise.resolve([]) },
    queues: { underWay: () => Promise.resolve([]) },
    clock: { now: () => NOW },
    startOf: () => START,
  })
  const added = Promise.withResolvers<void>()
  const idOf = (work: () => Promise<void>) =>
    withBackfillJobs([{ report: 'events' }], async (jobs) => {
      await work()
      return jobs.get('events')?.backfillId
    })
  const first = idOf(() => added.promise)
  const second = await idOf(() => Promise.resolve())
  added.resolve()
  expect(await first).toBe(second)
  expect(await idOf(() => Promise.resolve())).not.toBe(second)
})
