/** How often a first sync waits for one request alone, while the service could answer more at the same time. */
import { expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import type { ReportingClient } from '../../src/client/reporting.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { withMethods } from '../support/withMethods.ts'
import { aLeanTide } from './proofStories.ts'

const ROUND_MS = 20

/** Syncs a report for the first time. Returns how many requests had no other request beside them at any moment. */
async function loneRequests(report: ReportName, pages: number): Promise<number> {
  await using tide = await aLeanTide(pages * 10 - 3, 10)
  const { client } = tide.context
  const inFlight = new Set<{ isAlone: boolean }>()
  let lone = 0
  const read: ReportingClient['read'] = async (request, signal) => {
    const own = { isAlone: inFlight.size === 0 }
    for (const other of inFlight) other.isAlone = false
    inFlight.add(own)
    try {
      // Without this wait, a response could arrive before the next request of the same round is sent.
      await systemClock.sleep(ROUND_MS, signal)
      return await client.read(request, signal)
    } finally {
      inFlight.delete(own)
      if (own.isAlone) lone += 1
    }
  }
  const outcomes = await syncAll({ ...tide.context, client: withMethods(client, { read }) }, [report])
  expect(outcomes).toMatchObject([{ state: 'done' }])
  return lone
}

it('a first sync of a bare array requests the pages of its search together, and so the two after the last page', async () => {
  // The service's clock, page 1, two for the number of the first page, at most one of the search, and the young part.
  expect(await loneRequests('events', 40)).toBeLessThanOrEqual(7)
})
