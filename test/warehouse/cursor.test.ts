/** Cursors: what they name, and how they are read. */
import { expect, it } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import { currentCursor, loadOf, parseCursor } from '../../src/warehouse/books/cursor.ts'
import { aWarehouse, loadRows } from '../support/warehouse.ts'

it('names the state after the last load, and differs for loads of the same number in two warehouses', async () => {
  await using opened = await aWarehouse()
  await using other = await aWarehouse()
  const before = await currentCursor(opened.warehouse)
  await loadRows(opened, reportOf('enquiries'), [{ enquiryId: 1 }])
  await loadRows(other, reportOf('enquiries'), [{ enquiryId: 1 }], { runId: 'run-2' })
  const after = await currentCursor(opened.warehouse)
  expect(before).toBe('start')
  expect(loadOf(parseCursor(after))).toBe(1)
  expect(await currentCursor(opened.warehouse)).toBe(after)
  expect(await currentCursor(other.warehouse)).not.toBe(after)
})

it.each(['', '12', '12-xyz', '12-9f3a2c11d0b7 ', 'now', `'; DROP`])('refuses %j', (text) => {
  expect(() => parseCursor(text)).toThrow(/is no cursor/)
})
