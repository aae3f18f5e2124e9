/** The embedded queue on a disk that has no room: PGlite ends without a word of why, and its directory is no broken one. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../../jobs/stores/openStore.ts'
import { systemClock } from '../../../src/clock.ts'
import { aSmallDisk, fill, mayMount, type SmallDisk } from '../../support/smallDisk.ts'

const LONG = { timeout: 120_000 }

const openedIn = (folder: string) =>
  openStore('embedded', { directory: join(folder, 'warehouse.duckdb.queue'), clock: systemClock })

describe.skipIf(!(await mayMount()))('the embedded queue', () => {
  it('on a full disk fails with DISK_FULL, and keeps its jobs', { ...LONG, tags: 'long' }, async () => {
    await using disk = (await aSmallDisk(200)) as SmallDisk
    const before = await openedIn(disk.path)
    const { id } = await before.queue<object>('kept').add('kept', {})
    await before.close()
    const filler = join(disk.path, 'filler')
    await fill(filler)
    await expect(openedIn(disk.path)).rejects.toMatchObject({ code: 'DISK_FULL', retry: 'transient' })
    await rm(filler)
    await using after = await openedIn(disk.path)
    expect(await after.queue('kept').getJob(id ?? '')).toMatchObject({ name: 'kept' })
  })

  it('on a disk that is too small fails with DISK_FULL, and is created once there is space', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using disk = (await aSmallDisk(20)) as SmallDisk
    await expect(openedIn(disk.path)).rejects.toMatchObject({ code: 'DISK_FULL', retry: 'transient' })
    disk.grow(200)
    await using store = await openedIn(disk.path)
    expect((await store.queue<object>('made').add('made', {})).name).toBe('made')
  })
})
