/**
 * Upgrades: a warehouse of each layout that there was is opened by today's program with every row in it, and goes on;
 * what a newer program wrote is refused by every command, and left as it is. `UPDATE=1` writes the newest layout's file
 * anew: do so only while that layout is not released; once it is, a change of it is a new migration with a file of its
 * own.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { LAYOUT } from '../../src/warehouse/books/layout.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aWorld } from '../cli/support.ts'
import { dumpOf, fileOf, restore } from '../support/layoutDump.ts'
import { aTide } from '../support/tide.ts'
import { aFolder } from '../support/warehouse.ts'
import { everyCommandOn } from './everyCommand.ts'

const LAYOUTS = Array.from({ length: LAYOUT }, (_, index) => index + 1)
const HEAD = (layout: number) =>
  `-- A small warehouse of layout ${layout}, with rows in it; test/warehouse/layouts.test.ts opens it.\n`

it('UPDATE=1 writes the newest layout with rows of every report', async () => {
  if (process.env['UPDATE'] !== '1') return
  await using tide = await aTide({ sandbox: { rows: 4, faults: ['bad-rows@enquiries'] } })
  await tide.attempt()
  await tide.warehouse.close()
  await writeFile(fileOf(LAYOUT), HEAD(LAYOUT) + (await dumpOf(tide.config.warehouse)))
})

it.each(LAYOUTS)(
  'a warehouse of layout %i opens with every row, as the newest layout',
  { tags: 'long' },
  async (layout) => {
    await using folder = await aFolder()
    const file = path.join(folder.path, 'old.duckdb')
    await restore(fileOf(layout), file)
    const dump = await readFile(fileOf(layout), 'utf8')
    const kept = Map.groupBy(dump.matchAll(/^INSERT INTO ("\w+"\."\w+") /gm), ([, table]) => table ?? '')
    expect(kept.size).toBeGreaterThan(20)
    await using warehouse = await Warehouse.open({ path: file, memory: '256MB' })
    for (const [table, rows] of kept) {
      const [found] = await warehouse.rows<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)
      const isLayout = table === '"tidemark"."layout"'
      // The opening stores the fingerprint of the definitions.
      const added = table === '"tidemark"."settings"' && !dump.includes("'definitions'") ? 1 : 0
      expect(found?.n, table).toBe(isLayout ? LAYOUT : rows.length + added)
    }
    const [fresh] = await warehouse.rows<{ rows: number }>(
      `SELECT rows FROM tidemark.freshness WHERE report = 'events'`,
    )
    expect(fresh?.rows).toBe(4)
  },
)

it('a sync, a backfill and every reading command work on a warehouse of layout 1', { tags: 'long' }, () =>
  everyCommandOn(1),
)

it('a check leaves a warehouse of an older layout as it is, so that the program before still opens it', {
  tags: 'long',
}, async () => {
  await using world = await aWorld({ settings: { warehouse: './w.duckdb' } })
  const file = path.join(world.folder, 'w.duckdb')
  await restore(fileOf(1), file)
  const before = await readFile(file)
  expect((await world.run('check')).stdout).toMatch(/^warehouse +ok .*layout 1$/m)
  expect((await readFile(file)).equals(before)).toBe(true)
})

it('what a newer program wrote is refused by every command, and left as it is', {
  tags: 'long',
  timeout: 240_000,
}, async () => {
  await using world = await aWorld({ settings: { warehouse: './w.duckdb' } })
  await world.run('sync', 'events', '--quiet')
  for (const name of ['w.duckdb', 'published.duckdb']) {
    await using database = await Database.open(path.join(world.folder, name), { memory: '256MB' })
    await database.run(`INSERT INTO tidemark.layout VALUES (99, now())`)
  }
  const before = await readFile(path.join(world.folder, 'w.duckdb'))
  const commands = [
    ['sync'],
    ['status'],
    ['query', 'FROM events'],
    ['export', '--to', 'out'],
    ['reconcile'],
    ['pause', 'events'],
  ]
  for (const command of commands) {
    const { code, stderr } = await world.run(...command)
    expect({ command, code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('WAREHOUSE_NEWER') })
  }
  const checked = await world.run('check')
  expect(checked.stdout).toMatch(/^warehouse +fail .*layout 99/m)
  expect(checked.stdout).toMatch(/^published copy +fail .*layout 99/m)
  expect((await readFile(path.join(world.folder, 'w.duckdb'))).equals(before)).toBe(true)
})
