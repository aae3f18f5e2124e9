/** What fails behind the COMMIT of a load: the load is there, and the process that goes on knows what it left. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { events } from '../../schema/reports/events.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aFolder, loadRows, texts } from '../support/warehouse.ts'

const row = (id: number) => [{ eventId: id, name: 'an event', undocumented: id }]

it.each([1, 2, 3])(
  'columns that a load made are known when statement %i behind its COMMIT fails',
  { tags: 'long' },
  async (failing) => {
    await using folder = await aFolder()
    const path = join(folder.path, 'warehouse.duckdb')
    let [isLoading, behind] = [false, 0]
    const warehouse = await Warehouse.open({
      path,
      memory: '512MB',
      threads: 1,
      around: async (sql, run) => {
        if (isLoading && behind > 0) behind += 1
        if (isLoading && behind === failing + 1) throw new Error('IO Error: No space left on device')
        const result = await run()
        if (isLoading && sql === 'COMMIT') behind = 1
        return result
      },
    })
    const opened = { warehouse, folder: folder.path, path, [Symbol.asyncDispose]: () => Promise.resolve() }
    isLoading = true
    await loadRows(opened, events, row(1)).catch(() => undefined)
    isLoading = false
    await loadRows(opened, events, row(2))
    const held = await texts(opened, 'main.events', { columns: ['undocumented'] })
    expect(held).toEqual([{ undocumented: '1' }, { undocumented: '2' }])
    await warehouse.close()
  },
)
