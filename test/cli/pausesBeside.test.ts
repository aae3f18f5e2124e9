/** A long pause that the service asked for holds the next commands too, although no worker runs. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { aWorldWithoutCollections as aWorld, type World } from './support.ts'

const HOUR_S = 3_600
const pauseFile = ({ folder }: World): string => path.join(folder, 'data/warehouse.duckdb.pause.json')
const asked = ({ sandbox }: World): string[] => sandbox.requests.list().map(({ path: asked }) => asked)

async function inAPause(retryAfterS: number): Promise<World> {
  const world = await aWorld({ settings: { reports: {} } })
  expect((await world.run('sync', 'events')).code).toBe(0)
  world.sandbox.setFaults([`429@events:${retryAfterS}`])
  return world
}

describe('a pause that is longer than a run waits', () => {
  it('lets no command after it ask the service, each says until when, and is over by itself', {
    tags: 'long',
  }, async () => {
    await using world = await inAPause(HOUR_S)
    const first = await world.run('sync', 'events')
    expect(first.stdout).toMatch(/RATE_LIMITED/)
    world.sandbox.setFaults([])
    const before = asked(world)
    for (const command of ['sync events', 'verify events', 'backfill events', 'reconcile events', 'check']) {
      const { code, stdout, stderr } = await world.run(...command.split(' '))
      expect(code, command).toBeGreaterThan(0)
      expect(stdout + stderr, command).toMatch(/the next request is not before \d{4}-/)
    }
    expect(asked(world)).toEqual(before)
    const kept = JSON.parse(await readFile(pauseFile(world), 'utf8')) as { fromMs: number; untilMs: number }
    expect(kept.untilMs - kept.fromMs).toBe(HOUR_S * 1_000)
    const passed = { ...kept, fromMs: kept.fromMs - HOUR_S * 1_000, untilMs: kept.fromMs - 1 }
    await writeFile(pauseFile(world), JSON.stringify(passed))
    expect((await world.run('sync', 'events')).code).toBe(0)
  })

  it('holds up neither another client, nor anybody whose clock was set back, nor where its file is no JSON', {
    tags: 'long',
  }, async () => {
    await using world = await inAPause(HOUR_S)
    await world.run('sync', 'events')
    world.sandbox.setFaults([])
    const text = await readFile(pauseFile(world), 'utf8')
    const kept = JSON.parse(text) as { of: string; fromMs: number; untilMs: number }
    const ahead = { ...kept, fromMs: kept.fromMs + HOUR_S * 1_000, untilMs: kept.untilMs + HOUR_S * 1_000 }
    for (const content of [JSON.stringify({ ...kept, of: 'another' }), JSON.stringify(ahead), text.slice(0, 10)]) {
      await writeFile(pauseFile(world), content)
      const { code, stdout } = await world.run('sync', 'events')
      expect(code, `${content}: ${stdout}`).toBe(0)
    }
  })
})
