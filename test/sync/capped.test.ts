/** A service that counts every row and pages to some of them only: its totals say that rows are missing. */
import { expect, it } from 'vitest'
import { aTide } from '../support/tide.ts'
import { differencesOf, failureOf, spread, stampAlike } from './stories.ts'

const REQUESTS_MAX = 700

it.each(['enquiries', 'merf_submissions', 'office_reservations'] as const)(
  '%s arrive whole from a service that counts more rows than it pages to, at first and after it paged to all',
  { tags: 'long' },
  async (report) => {
    await using tide = await aTide({
      sandbox: { rows: 243, collections: false, faults: ['cap:50'] },
      settings: { defaults: { page_size: 20 } },
    })
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
    tide.sandbox.setFaults([])
    spread(tide, report, { rows: 45, minutes: 3 })
    await tide.sync(report)
    tide.sandbox.setFaults(['cap:10'])
    spread(tide, report, { rows: 45, minutes: 3 })
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
    expect(tide.sandbox.requests.total).toBeLessThan(REQUESTS_MAX)
  },
)

it('rows at one instant are not taken for whole where every page is the first one, full, and says that there are more', {
  tags: 'long',
}, async () => {
  await using tide = await aTide({ sandbox: { rows: 60, collections: false } })
  await tide.sync('enquiries')
  stampAlike(tide, 'enquiries', tide.sandbox.world.liveKeys('enquiries').slice(0, 20))
  tide.sandbox.setFaults(['clamp:10', 'ignore-page'])
  expect(failureOf(await tide.attempt('enquiries'), 'enquiries').code).toBe('WALK_UNSTABLE')
  tide.sandbox.setFaults([])
  await tide.sync('enquiries')
  expect(await differencesOf(tide, 'enquiries')).toEqual([])
})
