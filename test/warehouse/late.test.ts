/** Late rows as a load sees them: rows with news that are stamped where the windows before had asked. */
import { expect, it } from 'vitest'
import { events } from '../../schema/reports/events.ts'
import { minusMs } from '../../src/instant.ts'
import { aWarehouse, loadRows, NOON } from '../support/warehouse.ts'

const MINUTE_MS = 60_000
const previousRead = { until: minusMs(NOON, MINUTE_MS), at: minusMs(NOON, MINUTE_MS / 2) }

const event = (eventId: number, time: string, name = 'x') => ({
  eventId,
  name,
  aggregateRecordModified: `2026-03-01T${time}Z`,
})

it('a row counts as late if its stamp is new and its time was requested before, not if it is stored or later', async () => {
  await using opened = await aWarehouse()
  await loadRows(opened, events, [event(1, '10:00:00'), event(2, '10:00:00'), event(3, '10:00:00')])
  const changed = [
    event(1, '10:00:00', 'changed without a new stamp'),
    event(2, '11:50:00', 'a newer version that was asked for'),
    event(3, '11:59:30', 'a newer version that was not'),
    event(4, '11:40:00', 'a new row that was asked for'),
    { eventId: 5, name: 'a new row without a stamp' },
  ]
  const load = await loadRows(opened, events, changed, { previousRead })
  expect(load).toMatchObject({ inserted: 2, updated: 3, late: { late: 2, latenessMs: 19.5 * MINUTE_MS } })
  const again = await loadRows(opened, events, changed, { previousRead })
  expect(again).toMatchObject({ inserted: 0, updated: 0 })
  expect(again.late?.late ?? 0).toBe(0)
  expect(
    await opened.warehouse.rows('SELECT late, epoch_ms(lateness) AS ms FROM tidemark.loads ORDER BY load_id'),
  ).toEqual([
    { late: null, ms: null },
    { late: 2, ms: 19.5 * MINUTE_MS },
    { late: 0, ms: null },
  ])
})

it('a row whose stamp is a time before 1970, such as the year 1, is stored and does not count as late', async () => {
  await using opened = await aWarehouse()
  const unset = ['0001-01-01T00:00:00', '1601-01-01T00:00:00Z', '1969-12-31T23:59:59Z']
  const rows = unset.map((aggregateRecordModified, n) => ({ eventId: n, aggregateRecordModified }))
  const load = await loadRows(opened, events, [...rows, event(9, '11:40:00')], { previousRead })
  expect(load).toMatchObject({ inserted: 4, late: { late: 1, latenessMs: 19.5 * MINUTE_MS } })
})
