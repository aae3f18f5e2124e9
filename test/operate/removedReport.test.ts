/** A report whose file was removed from `reports_from`: its rows and books stay, and nothing fails because of them. */
import { readFile, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { Metrics } from '../../jobs/metrics/metrics.ts'
import { noticesFileOf, readMemory } from '../../jobs/notify/memory.ts'
import { marksOf, standingsOf } from '../../src/status/standing.ts'
import { bookFigures } from '../../src/warehouse/books/bookFigures.ts'
import { until } from '../cli/support.ts'
import { aDesk } from './desk.ts'

/** Books in which `enquiries` is also there under a name that no file declares. */
const BOOKS = ['report_states', 'marks', 'covered', 'coverage', 'runs']

it('is off in the books, and status, metrics and notices of the others go on', async () => {
  await using desk = await aDesk()
  const { tide, receiver, start, log } = desk
  await tide.sync('enquiries')
  await tide.warehouse.pause(
    { report: 'enquiries', code: 'REPORT_PAUSED', reason: 'paused by an operator', cure: '', client: '' },
    tide.clock.now(),
  )
  await (await start())()
  for (const book of BOOKS) {
    await tide.warehouse.rows(
      `INSERT INTO tidemark.${book} SELECT * REPLACE ('gone_orders' AS report) FROM tidemark.${book} WHERE report = 'enquiries'`,
    )
  }
  const file = noticesFileOf(tide.config.warehouse)
  const stored = JSON.parse((await readFile(file, 'utf8')).replaceAll('enquiries', 'gone_orders')) as object
  const failure = { report: 'gone_orders', kind: 'incremental', times: 3, code: 'UNEXPECTED', message: '', cure: '' }
  await writeFile(file, JSON.stringify({ ...stored, failures: [failure] }))
  expect(Object.keys((await readMemory(tide.config.warehouse)).firing)).toEqual(['paused gone_orders'])

  const end = await start()
  await until(() => receiver.taken().includes('report.paused resolved gone_orders'), 'its notice is over')
  // A run of a new process stores the states of all reports.
  await tide.warehouse.recordReportStates([{ report: 'events', enabled: true, offReason: undefined }])
  await end()
  expect(log.join('')).not.toContain('no longer sent')
  expect([...(await marksOf(tide.warehouse)).keys()]).not.toContain('gone_orders')
  expect(await standingsOf(tide.warehouse, tide.config)).toContainEqual(
    expect.objectContaining({ report: 'enquiries', state: 'paused' }),
  )
  using metrics = new Metrics({ config: tide.config, clock: tide.clock, version: '1' })
  using _ = metrics.watchBooks(() => bookFigures(tide.warehouse))
  expect((await metrics.text()).body).toContain('tidemark_report_paused{report="enquiries"} 1')
  expect(
    await tide.warehouse.rows("SELECT enabled, off_reason FROM tidemark.report_states WHERE report = 'gone_orders'"),
  ).toEqual([{ enabled: false, off_reason: 'no file in reports_from declares it' }])
})
