/** `tidemark health`: the sign of life of a worker, as a container or a service manager asks for it. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { heartbeatAgeMs, heartbeatPathsOf, startHeartbeat } from '../../src/worker/heartbeat.ts'
import { HOUR_MS, plusMs } from '../../src/instant.ts'
import { systemClock } from '../../src/clock.ts'
import { aFolder } from '../support/warehouse.ts'
import { aWorkshop, hasSaid, OWNS, stop, until } from './support.ts'

it('ends with 0 while a worker of this warehouse lives, also one with a temporary directory of its own, and with 1 when none does', {
  tags: 'long',
}, async () => {
  await using workshop = await aWorkshop({ store: 'redis' })
  expect((await workshop.run('health')).code).toBe(1)
  const own = path.join(workshop.folder, 'private')
  await mkdir(own)
  const worker = workshop.start(['worker'], { env: { TMPDIR: own }, isTied: true })
  await until(() => hasSaid(worker, OWNS))
  await until(async () => (await workshop.run('health')).code === 0)
  const alive = await workshop.run('health')
  expect([alive.code, alive.stdout]).toEqual([0, expect.stringContaining('a worker last showed that it lives')])
  await stop(worker)
  expect((await workshop.run('health')).code).toBe(1)
  expect((await readdir(path.join(workshop.folder, 'data'))).filter((name) => name.endsWith('.alive'))).toEqual([])
})

it('is not taken from a dead worker whose clock was ahead', async () => {
  await using folder = await aFolder()
  const warehouse = path.join(folder.path, 'w.duckdb')
  const [beside] = heartbeatPathsOf(warehouse)
  await writeFile(beside, String(plusMs(systemClock.now(), 2 * HOUR_MS)))
  expect(await heartbeatAgeMs(warehouse, systemClock)).toBeGreaterThan(HOUR_MS)
  await writeFile(beside, String(systemClock.now()))
  expect(await heartbeatAgeMs(warehouse, systemClock)).toBeLessThan(10_000)
})

it('is written over the one before, which a full disk would have no room for once it is emptied', async () => {
  await using folder = await aFolder()
  const warehouse = path.join(folder.path, 'w.duckdb')
  const [beside] = heartbeatPathsOf(warehouse)
  await writeFile(beside, `${plusMs(systemClock.now(), -HOUR_MS)}\n`)
  await using _ = startHeartbeat(warehouse, systemClock)
  await until(async () => ((await heartbeatAgeMs(warehouse, systemClock)) ?? HOUR_MS) < 10_000)
  expect(await readFile(beside, 'utf8')).toMatch(/^\d{16}\n$/)
})
