/** What a service whose clock is set back does to rows that have no stamp of their own. */
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { openClient } from '../../src/client/reporting.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { differences } from '../../src/cli/certify/compare.ts'
import { aTideWithoutCollections as aTide } from '../support/tide.ts'

it('takes edits made after the clock was set back, although they seem to be older', { tags: 'long' }, async () => {
  await using tide = await aTide()
  await tide.sync('enquiries')
  tide.sandbox.setFaults(['skew:-10800'])
  const { world } = tide.sandbox
  const [key] = world.liveKeys('enquiries') as [number]
  world.edit('enquiries', key)
  for (let run = 0; run < 2; run += 1) {
    await using client = openClient(tide.config.service, { clock: systemClock })
    const [outcome] = await syncAll({ ...tide.context, client }, ['enquiries'])
    expect(outcome?.state).toBe('done')
  }
  expect(await differences(tide.warehouse, world, { report: 'enquiries' })).toEqual([])
})
