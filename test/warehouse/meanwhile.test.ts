/** A walk goes on while its first pages are loaded, and what later pages show changes what is known of the fields. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import { wireKey } from '../../schema/tables.ts'
import { scanPage } from '../../src/staging/scanPage.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { catalogOf } from '../../src/staging/catalog.ts'
import { aFolder, loadRows, NOON, pageBytes, segmentOf, texts } from '../support/warehouse.ts'

const events = reportOf('events')
const rowWith = (rate: string): string => `[{"eventId":1,"exactRate":${rate}}]`

it('a page that is read while a load stages its rows changes nothing of how they are read', {
  tags: 'long',
}, async () => {
  await using folder = await aFolder()
  let meanwhile: (() => void) | undefined
  const path = join(folder.path, 'warehouse.duckdb')
  const warehouse = await Warehouse.open({
    path,
    memory: '512MB',
    threads: 1,
    around: async (sql, work) => {
      const done = await work()
      if (sql.includes('TABLE staged_pages')) meanwhile?.()
      return done
    },
  })
  const opened = { warehouse, folder: folder.path, path, [Symbol.asyncDispose]: () => warehouse.close() }
  await using _ = opened
  await loadRows(opened, events, rowWith('2e3'))
  const catalog = catalogOf(events)
  const pages = [{ rows: rowWith('1e3'), observedAt: '2026-03-01T13:00:00Z' }]
  const segment = await segmentOf(opened, events, pages, catalog)
  const plan = { answer: events.answer, key: wireKey(events), catalog, numberPrefix: warehouse.numberPrefix }
  meanwhile = () => void scanPage(pageBytes(events, rowWith('99999999999999999.123456789')), plan)
  await warehouse.load({ kind: 'changes', report: events, runId: 'run-2', now: NOON, closes: [], segment })
  expect(await texts(opened, 'main.events', { columns: ['exact_rate', '_extra'] })).toEqual([
    { exact_rate: '1000.0', _extra: null },
  ])
})
