/** Commands on a warehouse of an older layout; layouts.test.ts and layouts.long.test.ts call this. */
import path from 'node:path'
import { expect } from 'vitest'
import { aWorld } from '../cli/support.ts'
import { fileOf, restore } from '../support/layoutDump.ts'

export async function everyCommandOn(layout: number): Promise<void> {
  await using world = await aWorld({ settings: { warehouse: './w.duckdb' } })
  await restore(fileOf(layout), path.join(world.folder, 'w.duckdb'))
  for (const command of [
    ['sync'],
    ['backfill', 'events', '--from', '2024-01-01'],
    ['status'],
    ['query', 'FROM events'],
  ])
    expect(await world.run(...command), command.join(' ')).toMatchObject({ code: 0 })
}
