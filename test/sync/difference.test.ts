/** Budgets that only the difference of two reads shows to be deleted: what may stand between the two reads. */
import { expect, it } from 'vitest'
import type { ReportingClient } from '../../src/client/reporting.ts'
import type { Rooms } from '../../src/sync/rooms.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { differencesOf } from './stories.ts'

/** Rooms whose client tells of each question without deleted rows before it is asked. */
function roomsThat(tide: Tide, beforeSecondRead: () => void): Rooms {
  const { rooms } = tide
  const read: ReportingClient['read'] = (request, signal) => {
    if ((request.body as { includeDeleted?: boolean }).includeDeleted === false) beforeSecondRead()
    return rooms.client.read(request, signal)
  }
  const client = new Proxy(rooms.client, {
    get(target, name) {
      if (name === 'read') return read
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return { ...rooms, client }
}

const deletedOf = async ({ warehouse }: Tide, key: number): Promise<boolean[]> =>
  (await warehouse.rows<{ is_deleted: boolean }>(`SELECT is_deleted FROM budgets WHERE budget_id = ${key}`)).map(
    (row) => row.is_deleted,
  )

it('a budget that comes malformed in the second read is there, and not taken for deleted', async () => {
  await using tide = await aTide({ sandbox: { rows: 12 } })
  await tide.sync('budgets')
  const { world } = tide.sandbox
  const [key, other] = world.liveKeys('budgets') as [number, number]
  const sound = JSON.stringify(world.row('budgets', key)?.['budgetName'])
  for (const each of [key, other]) world.edit('budgets', each)
  const rooms = roomsThat(tide, () => world.putRow('budgets', key, { budgetName: `${sound},"budgetName":"again"` }))
  const [outcome] = await syncAll(rooms, ['budgets'])
  expect(outcome?.state).toBe('done')
  expect(await deletedOf(tide, key)).not.toContain(true)
  world.putRow('budgets', key, { budgetName: sound })
  world.edit('budgets', key)
  await tide.sync('budgets')
  expect(await differencesOf(tide, 'budgets')).toEqual([])
})
