/** Who opens the warehouse clears its staging directory only where nobody else can be at work there. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aWorkshop } from './support.ts'

const LONG = { timeout: 300_000 }
const RARELY = { defaults: { every: '1h', reconcile_every: 'never' } }

it('a command that does the work itself leaves alone what pullers of its queue have staged', {
  ...LONG,
  tags: 'long',
}, async () => {
  await using shop = await aWorkshop({ store: 'redis', settings: RARELY })
  const pulled = join(shop.folder, 'data/warehouse.duckdb.staging/pulled-by-another')
  await mkdir(pulled, { recursive: true })
  expect(await shop.run('sync', 'events')).toMatchObject({ code: 0 })
  expect(existsSync(pulled)).toBe(true)
})
