/**
 * An answer of a hundred megabytes, read by a process of its own whose memory is measured.
 * @module-tag long
 */
import { describe, expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox/server.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aPlace, startSync } from './ownProcess.ts'
import { differencesOf } from './stories.ts'

const MEGABYTE = 1_024 * 1_024

describe('a page of 100 MB', () => {
  it('passes within the limit, in bounded memory', async () => {
    await using sandbox = await startSandbox({ rows: 12, faults: ['huge@events:100'] })
    await using place = await aPlace(sandbox.url)
    const told = await startSync(place, ['events']).ended
    expect(told?.outcomes).toMatchObject([{ state: 'done' }])
    // The answer once as pieces and once joined, the one before it that was not collected yet, and the process itself.
    // The run reads five such pages, so a leak of one a page would show.
    expect(told?.peakBytes).toBeLessThan(1_000 * MEGABYTE)
    await using warehouse = await Warehouse.open({ path: place.config.warehouse, memory: '256MB' })
    expect(await differencesOf({ warehouse, sandbox, config: place.config }, 'events')).toEqual([])
  })
})
