/** `tidemark move` from a file into a lake and back, and from a lake into another one. */
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aMovableWorld, change, type MovableWorld, MOVED } from '../cli/moving.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

const FILE = { warehouse: './old.duckdb', extensions: extensionsFolder() }

type Settings = Readonly<Record<string, string>>

/** Moves the configured warehouse, and returns its content before and after. */
async function moved(world: MovableWorld, from: Settings, to: Settings): Promise<readonly [unknown, unknown]> {
  const before = await world.content(from)
  const data = to['lake_data'] === undefined ? [] : ['--data', to['lake_data']]
  await world.done('move', '--to', to['warehouse'] ?? '', ...data)
  return [before, await world.content(to)]
}

describe.each(['sqlite', 'postgres'] as const)('a lake whose catalogue is in %s', (catalogue) => {
  it('takes over a file with its books and history, and gives them back', async () => {
    await using world = await aMovableWorld(FILE)
    const steady = await world.sync()
    expect(steady.old).toEqual([])
    const place = catalogue === 'sqlite' ? path.join(world.folder, 'lake.sqlite') : await postgres.newDatabase()
    const lake = { ...FILE, warehouse: `ducklake:${catalogue}:${place}`, lake_data: path.join(world.folder, 'files') }
    const [file, inLake] = await moved(world, FILE, lake)
    expect(inLake).toEqual(file)
    const last = (await world.done('changes', ...MOVED)).trim().split('\n').at(-1)
    const { cursor } = JSON.parse(last ?? '') as { cursor: string }
    expect(await world.sync()).toEqual(steady)
    change(world)
    const changed = await world.sync()
    expect(changed.old).toEqual([])
    expect(changed.written).not.toEqual(steady.written)
    const back = { ...FILE, warehouse: './back.duckdb' }
    const [before, after] = await moved(world, lake, back)
    expect(after).toEqual(before)
    expect(await world.sync()).toEqual(steady)
    expect((await world.done('changes', 'events', '--since', cursor)).trim().split('\n').length).toBeGreaterThan(2)
  })
})
