/** Audit trails that take more than one page: entries have no key, so their walks are never cut. */
import { expect, it } from 'vitest'
import { aTide } from '../support/tide.ts'

it('reads a trail of several pages whole, and numbers new entries on', async () => {
  const settings = { reports: { audit_entries: { page_size: 2, entities: [{ entity_id: 3, follows: 'events' }] } } }
  await using tide = await aTide({ sandbox: { rows: 12 }, settings })
  await tide.sync('events', 'audit_entries')
  const { world } = tide.sandbox
  const sent = () =>
    world
      .keys('events')
      .toSorted((a, b) => a - b)
      .map((key) => world.auditEntries(3, key).length)
  const held = async () => {
    const rows = await tide.warehouse.rows<{ n: number; last: number }>(
      'SELECT count(*) AS n, max(entry_number) AS last FROM audit_entries GROUP BY entity_record_id ORDER BY entity_record_id',
    )
    for (const { n, last } of rows) expect(last).toBe(n)
    return rows.map((row) => row.n)
  }
  expect(Math.max(...sent())).toBeGreaterThan(2)
  expect(await held()).toEqual(sent())
  const [event] = world.liveKeys('events') as [number]
  for (let n = 0; n < 5; n += 1) world.edit('events', event)
  await tide.sync('events', 'audit_entries')
  expect(await held()).toEqual(sent())
})
