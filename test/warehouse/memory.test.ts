/** Rows so large that DuckDB's memory doesn't hold them: one thread is tried, then it is said what to do. */
import { describe, expect, it } from 'vitest'
import { events } from '../../schema/reports/events.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aFolder, loadRows, type OpenWarehouse } from '../support/warehouse.ts'

const MIB = 2 ** 20

async function small(threads: number, memory: string): Promise<OpenWarehouse> {
  const folder = await aFolder()
  const path = `${folder.path}/warehouse.duckdb`
  const warehouse = await Warehouse.open({ path, memory, threads })
  return {
    warehouse,
    path,
    folder: folder.path,
    [Symbol.asyncDispose]: async () => {
      await warehouse.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const threadsOf = async ({ warehouse }: OpenWarehouse) =>
  (await warehouse.rows<{ threads: number }>(`SELECT current_setting('threads') AS threads`))[0]?.threads

const event = (more: object) => ({ eventId: 1, name: 'n', isDeleted: false, ...more })
const large = (bytes: number) => event({ notes: 'x'.repeat(bytes) })
const withLargeItem = (bytes: number) => event({ meetingRooms: [{ id: 5, text: 'y'.repeat(bytes) }] })

describe('a load that does not fit the memory that DuckDB may take', () => {
  it('is done on one thread, whose buffers are the only ones, and the next one on all of them again', async () => {
    await using opened = await small(4, '100MB')
    await loadRows(opened, events, [large(16 * MIB)])
    const [held] = await opened.warehouse.rows('SELECT length(notes) AS characters FROM events')
    expect(held).toEqual({ characters: 16 * MIB })
    expect(await threadsOf(opened)).toBe(4)
  })

  it.each([
    ['a row', large(30 * MIB)],
    ['an item of a collection', withLargeItem(30 * MIB)],
  ])('says which limit to raise where %s is too large for any number of threads, and keeps nothing', async (_, row) => {
    await using opened = await small(4, '100MB')
    await expect(loadRows(opened, events, [row])).rejects.toMatchObject({
      code: 'WAREHOUSE_MEMORY',
      cure: expect.stringContaining('limits.warehouse_memory') as unknown,
    })
    expect(await opened.warehouse.rows('SELECT event_id FROM events')).toEqual([])
    expect(await threadsOf(opened)).toBe(4)
    await loadRows(opened, events, [event({})])
    expect(await opened.warehouse.rows('SELECT event_id FROM events')).toEqual([{ event_id: 1 }])
  })
})
