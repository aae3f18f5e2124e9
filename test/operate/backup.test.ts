/**
 * Backup and restore as the documents say, with their own commands: a copy taken while a worker runs brings all back.
 */
import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { aWorkshop, hasSaid, published, stop, until } from '../jobs/support.ts'
import { documents } from '../rules/markdown.ts'

const run = promisify(execFile)

async function asDocumented(kind: string, cwd: string): Promise<void> {
  const operating = documents().find(({ name }) => name === 'docs/OPERATING.md')
  const block = operating?.blocks.find((each) => each.kind === `sh ${kind}`)
  if (block === undefined) throw new TypeError(`docs/OPERATING.md shows no ${kind}`)
  await run('sh', ['-eu', '-c', block.text], { cwd })
}

it('a copy made while a worker runs is a whole warehouse, and a sync after its restore lacks nothing', {
  tags: 'long',
  timeout: 400_000,
}, async () => {
  await using shop = await aWorkshop({ store: 'redis', sandbox: { rows: 60, collections: true, changesPerSecond: 10 } })
  const worker = shop.worker()
  await until(() => hasSaid(worker, 'published'))
  await asDocumented('backup', shop.folder)
  const loads = async () =>
    (await published<{ n: number }>(shop, 'SELECT count(*) AS n FROM tidemark.loads'))[0]?.n ?? 0
  const before = await loads()
  await until(async () => (await loads()) > before + 1)
  shop.sandbox.setChangesPerSecond(0)
  await stop(worker)

  const data = path.join(shop.folder, 'data')
  for (const name of await readdir(data)) await rm(path.join(data, name), { recursive: true })
  await asDocumented('restore', shop.folder)
  expect(await shop.run('sync', 'events', '--quiet')).toMatchObject({ code: 0 })
  const rows = await published<{ id: number }>(shop, 'SELECT event_id AS id FROM main.events ORDER BY 1')
  expect(rows.map(({ id }) => id)).toEqual(
    shop.sandbox.world
      .keys('events')
      .map(Number)
      .toSorted((a, b) => a - b),
  )
  // Every key and value of the whole time, compared with the service.
  const verified = await shop.run('verify', 'events', '--from', '2000-01-01')
  expect(verified, verified.stdout).toMatchObject({ code: 0 })
})
