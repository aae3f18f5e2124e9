/** Reports of one's own whose key is a text or a time: every report of the specification has a number in its key. */
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { type ReportName, registerReports } from '../../schema/index.ts'
import { dateTime, defineReport, integer, manyOf, string } from '../../schema/report.ts'
import { plusMs } from '../../src/instant.ts'
import { currentCursor } from '../../src/warehouse/books/cursor.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { exportTo } from '../../src/warehouse/publish/export.ts'
import { aWarehouse, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

const usual = {
  answer: 'envelope',
  window: { since: 'since', until: 'until', required: false },
  expand: manyOf('kids'),
} as const
const parcels = defineReport({
  ...usual,
  name: 'parcels',
  meaning: 'Parcels',
  path: '/Parcels',
  key: ['urn'],
  fields: { urn: string('Identifier'), weight: integer('Weight') },
})
const slots = defineReport({
  ...usual,
  name: 'slots',
  meaning: 'Slots',
  path: '/Slots',
  key: ['starts_at'],
  fields: { startsAt: dateTime('Beginning'), seats: integer('Seats') },
})

beforeAll(() => registerReports([parcels, slots]))

const later = { observedAt: plusMs(NOON, 60_000) }

async function copyOf({ warehouse, folder }: OpenWarehouse): Promise<Database> {
  const published = join(folder, 'published.duckdb')
  await warehouse.publish(published)
  return Database.open(published, { readOnly: true, memory: '256MB' })
}

it('a table without a number in its key is exported as one file, and only when it changes', async () => {
  await using opened = await aWarehouse()
  const to = join(opened.folder, 'out')
  const exported = async () => {
    await using copy = await copyOf(opened)
    return await exportTo(copy, { to, reports: ['parcels', 'slots'] as unknown as ReportName[], now: NOON })
  }
  await loadRows(opened, parcels, [{ urn: 'b', weight: 1, kids: [{ id: 'x' }] }, { urn: 'a' }])
  const first = await exported()
  const [table] = first.manifest.tables
  expect(table).toMatchObject({ name: 'parcels', partition: { column: 'urn' }, rows: 2, files: [{ rows: 2 }] })
  await using reader = await Database.open(':memory:', { memory: '256MB' })
  const file = join(to, table?.files[0]?.path ?? '')
  expect(await reader.rows(`SELECT urn, weight FROM read_parquet('${file}')`)).toEqual([
    { urn: 'a', weight: null },
    { urn: 'b', weight: 1 },
  ])
  await loadRows(opened, slots, [{ startsAt: '2026-03-29T01:30:00Z' }])
  expect([...(await exported()).written]).toEqual(['slots/0-99999.2.parquet'])
})

const wrong = (urn: string) => ({ urn, weight: 'heavy', kids: [{ id: 'a:b', size: 'large' }] })

it('a misfit of a row whose key contains colons leaves the list when a later version fits', async () => {
  await using opened = await aWarehouse()
  const keys = () => texts(opened, 'tidemark.misfits', { columns: ['table', 'key'] })
  await loadRows(opened, parcels, [{ urn: 'urn:x:0', kids: [{ id: 'c:d', size: 1 }] }])
  await loadRows(opened, parcels, [wrong('urn:x:1'), wrong('urn:x:2')], later)
  await loadRows(opened, slots, [{ startsAt: '2026-03-29T01:30:00Z', seats: 'many' }])
  const other = [
    { table: 'parcels', key: 'urn:x:2' },
    { table: 'parcels__kids', key: 'urn:x:2:a:b' },
  ]
  expect(await keys()).toEqual([
    { table: 'parcels', key: 'urn:x:1' },
    other[0],
    { table: 'parcels__kids', key: 'urn:x:1:a:b' },
    other[1],
    { table: 'slots', key: '2026-03-29 01:30:00+00' },
  ])
  const after = { observedAt: plusMs(NOON, 120_000) }
  await loadRows(opened, parcels, [{ urn: 'urn:x:1', weight: 3, kids: [{ id: 'a:b', size: 2 }] }], after)
  await loadRows(opened, slots, [{ startsAt: '2026-03-29T01:30:00Z', seats: 4 }], after)
  expect(await keys()).toEqual(other)
})

it('the change feed names an update of a row whose key is a time an update, in any time zone of the reader', async () => {
  await using opened = await aWarehouse()
  const kids = [{ id: 1, size: 1 }]
  const rows = (seats: number) =>
    ['00', '01', '02.5'].map((at) => ({ startsAt: `2026-03-29T01:30:${at}Z`, seats, kids }))
  await loadRows(opened, slots, rows(1))
  const since = await (async () => {
    await using copy = await copyOf(opened)
    return currentCursor(copy)
  })()
  await loadRows(opened, slots, rows(2), later)
  await using copy = await copyOf(opened)
  for (const zone of ['UTC', 'Europe/Berlin', 'Asia/Kolkata']) {
    await copy.run(`SET TimeZone = '${zone}'`)
    expect(await copy.rows(`SELECT _change, count(*) AS rows FROM changes.slots('${since}') GROUP BY ALL`)).toEqual([
      { _change: 'update', rows: 3 },
    ])
  }
})
