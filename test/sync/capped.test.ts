/** A service that counts every row and pages to some of them only: its totals say that rows are missing. */
import { expect, it } from 'vitest'
import { aTide } from '../support/tide.ts'
import { differencesOf, spread } from './stories.ts'

const REQUESTS_MAX = 700

it.each(['enquiries', 'merf_submissions', 'office_reservations'] as const)(
  '%s arrive whole from a service that counts more rows than it pages to, at first and after it paged to all',
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
