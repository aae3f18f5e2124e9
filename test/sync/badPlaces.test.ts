/**
 * Disks and files that fail: a warehouse that another process holds, a full disk (a small tmpfs, nothing is faked), a
 * corrupt file, and an answer that is too large (badPlaces.long.test.ts has one of a hundred megabytes). Each story ends with the cause mended and nothing lost.
 */
import { mkdir, open, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SyncError } from '../../src/errors.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import type { LoadInput } from '../../src/warehouse/load/loadInput.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { markOf } from '../support/held.ts'
import { aSmallDisk, fill, mayMount, type SmallDisk } from '../support/smallDisk.ts'
import { aTide } from '../support/tide.ts'
import { aWarehouse } from '../support/warehouse.ts'
import { withMethods } from '../support/withMethods.ts'
import { aPlace, startSync } from './ownProcess.ts'
import { differencesOf, failureOf } from './stories.ts'

/** Opening is refused with an error fit for people. */
async function refusedOpening(path: string): Promise<SyncError> {
  const error = await Warehouse.open({ path, memory: '256MB' }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(SyncError)
  return error as SyncError
}

describe('a warehouse file', () => {
  it('that another process holds says which, and is whole once that process is gone', { tags: 'long' }, async () => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    const place = { folder: '', config: tide.config }
    await using other = await aPlace(tide.sandbox.url, { warehouse: place.config.warehouse })
    const { ended } = startSync(other, ['events'])
    const told = await ended
    expect(told?.error?.code).toBe('WAREHOUSE_LOCKED')
    expect(told?.error?.message).toMatch(new RegExp(`another process.*PID ${process.pid}`))
    expect(told?.error?.cure).toMatch(/stop the other one/)
    await tide.sync('events')
    expect(await differencesOf(tide, 'events')).toEqual([])
  })

  it.each([
    ['holds something else', async (path: string) => writeFile(path, 'name,town\n'.repeat(2_000))],
    [
      'was damaged in its first block',
      async (path: string) => {
        await using file = await open(path, 'r+')
        await file.write(Buffer.alloc(4_096, 7), 0, 4_096, 0)
      },
    ],
    ['was cut', (path: string) => truncate(path, 20_000)],
  ])('that %s is refused as corrupt', async (_, damage) => {
    await using opened = await aWarehouse()
    await opened.warehouse.close()
    await damage(opened.path)
    const refused = await refusedOpening(opened.path)
    expect(refused.code).toBe('WAREHOUSE_CORRUPT')
    expect(refused.message).toContain(opened.path)
    expect(refused.cure).toMatch(/backup.*move it away/)
  })

  it('that is corrupt is built afresh once it is moved away', { tags: 'long' }, async () => {
    await using sandbox = await startSandbox({ rows: 12 })
    await using place = await aPlace(sandbox.url)
    const path = place.config.warehouse
    await startSync(place, ['events']).ended
    await truncate(path, 20_000)
    expect((await startSync(place, ['events']).ended)?.error?.code).toBe('WAREHOUSE_CORRUPT')
    await rename(path, `${path}.broken`)
    expect((await startSync(place, ['events']).ended)?.outcomes).toMatchObject([{ state: 'done' }])
    await using warehouse = await Warehouse.open({ path, memory: '256MB' })
    expect(await differencesOf({ warehouse, sandbox, config: place.config }, 'events')).toEqual([])
  })
})

describe.skipIf(!(await mayMount()))('a full disk', () => {
  it('under the staged rows fails the report, keeps its mark, and the next run is complete', {
    tags: 'long',
  }, async () => {
    await using disk = (await aSmallDisk(1)) as SmallDisk
    await using tide = await aTide({ sandbox: { rows: 400, itemsPerCollection: 4 } })
    const settings = { ...tide.context.settings, staging: join(disk.path, 'staging') }
    const run = () => syncAll({ ...tide.context, settings }, ['events'])
    const failed = failureOf(await run(), 'events')
    expect(failed.code).toBe('DISK_FULL')
    expect(failed.message).toMatch(/no space is left for staged rows/)
    expect(failed.cure).toMatch(/Free some space/)
    expect(await markOf(tide, 'events')).toBeUndefined()
    disk.grow(64)
    expect(await run()).toMatchObject([{ state: 'done' }])
    expect(await differencesOf(tide, 'events')).toEqual([])
  })

  it('under the warehouse fails the report, loses nothing committed, and the next run is complete', {
    tags: 'long',
  }, async () => {
    await using disk = (await aSmallDisk(24)) as SmallDisk
    const folder = join(disk.path, 'data')
    await mkdir(folder)
    await using tide = await aTide({
      sandbox: { rows: 300, itemsPerCollection: 4 },
      settings: { warehouse: join(folder, 'warehouse.duckdb'), currencies: ['EUR'] },
    })
    // Staged rows lie elsewhere, so that it is the database that runs out of space.
    await using staging = await aPlace(tide.sandbox.url)
    const settings = { ...tide.context.settings, staging: join(staging.folder, 'staging') }
    const run = () => syncAll({ ...tide.context, settings }, ['enquiries', 'events'])
    await syncAll({ ...tide.context, settings }, ['enquiries'])
    const mark = await markOf(tide, 'enquiries')
    const filler = join(disk.path, 'filler')
    await fill(filler)
    const failed = failureOf(await run(), 'events')
    expect(failed.code).toBe('DISK_FULL')
    expect(failed.message).toMatch(/no space is left for .*warehouse\.duckdb/)
    expect(failed.cure).toMatch(/Free some space/)
    await rm(filler)
    disk.grow(256)
    expect(await markOf(tide, 'events')).toBeUndefined()
    expect(await markOf(tide, 'enquiries')).toBeGreaterThanOrEqual(mark ?? Infinity)
    expect(await run()).toMatchObject([{ state: 'done' }, { state: 'done' }])
    expect(await differencesOf(tide, 'enquiries', 'events')).toEqual([])
  })
})

describe('a staging directory', () => {
  it('that is emptied under a run fails it as that, and the next run is complete', { tags: 'long' }, async () => {
    await using tide = await aTide({ sandbox: { rows: 60 } })
    const { warehouse, settings } = tide.context
    const emptied = withMethods(warehouse, {
      load: async (input: LoadInput) => {
        await rm(settings.staging, { recursive: true })
        return warehouse.load(input)
      },
    })
    for (const report of ['events', 'enquiries'] as const) {
      const failed = failureOf(await syncAll({ ...tide.context, warehouse: emptied }, [report]), report)
      expect(failed.code).toBe('STAGED_MISSING')
      expect(failed.message).toContain(settings.staging)
      expect(await markOf(tide, report)).toBeUndefined()
    }
    await tide.sync('events', 'enquiries')
    expect(await differencesOf(tide, 'events', 'enquiries')).toEqual([])
  })
})

describe('a page of 20 MB', () => {
  it('beyond limits.page_bytes_max is refused before it is read, and the other reports go on', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide({
      sandbox: { rows: 12, faults: ['huge@events:20'] },
      settings: { limits: { page_bytes_max: '10MB' } },
    })
    const outcomes = await tide.attempt('events', 'enquiries')
    const failed = failureOf(outcomes, 'events')
    expect(failed.code).toBe('ANSWER_TOO_LARGE')
    expect(failed.message).toMatch(/larger than 10000000 bytes/)
    expect(failed.cure).toMatch(/page_size.*limits\.page_bytes_max/)
    expect(outcomes.find(({ report }) => report === 'enquiries')?.state).toBe('done')
    expect(await markOf(tide, 'events')).toBeUndefined()
    tide.sandbox.setFaults([])
    await tide.sync('events')
    expect(await differencesOf(tide, 'events', 'enquiries')).toEqual([])
  })
})
