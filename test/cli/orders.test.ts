/** Each command that changes something is in `tidemark.orders`: who asked, for what, when, and how it ended. */
import { hostname, userInfo } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWorldWithoutCollections as aWorld } from './support.ts'

const ME = `${userInfo().username}@${hostname()}`

async function ordersIn(folder: string): Promise<object[]> {
  await using copy = await Database.open(path.join(folder, 'data', 'published.duckdb'), {
    readOnly: true,
    memory: '128MB',
  })
  return copy.rows(`
    SELECT who, what, request->>'$.reports[0]' AS report, result, ended_at >= asked_at AS ended
    FROM tidemark.orders ORDER BY asked_at`)
}

it('a command leaves its order with its result, in the copy that it publishes', async () => {
  await using world = await aWorld({ sandbox: { rows: 5, faults: ['403@enquiries'] } })
  await world.run('sync', 'events', 'enquiries')
  await world.run('pause', 'events')
  expect(await ordersIn(world.folder)).toEqual([
    { who: ME, what: 'sync', report: 'events', result: 'failed: enquiries REPORT_FORBIDDEN', ended: true },
    { who: ME, what: 'pause', report: 'events', result: 'done', ended: true },
  ])
})

it('an order that fails has the report and the code of its error', { tags: 'long' }, async () => {
  await using world = await aWorld({ sandbox: { rows: 5, faults: ['403@enquiries'] } })
  await world.run('sync', 'events', 'enquiries')
  await world.run('cancel', 'nothing-of-this-name')
  expect(await world.run('cancel', '')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('tidemark status') as string,
  })
  await world.run('pause', 'events')
  expect(await ordersIn(world.folder)).toMatchObject([
    { what: 'sync', result: 'failed: enquiries REPORT_FORBIDDEN' },
    { what: 'cancel', result: 'USAGE_INVALID' },
    { what: 'cancel', result: 'USAGE_INVALID' },
    { what: 'pause', result: 'done' },
  ])
})
