/**
 * Several readers in processes of their own, at once, while loads and publishes go on: never a lock, always one cut
 * over all tables and books, never an older cut than before, and what was opened stays as it was.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { merfSubmissions } from '../../schema/reports/merfSubmissions.ts'
import { plusMs } from '../../src/instant.ts'
import { aClosedWindow, aWarehouse, loadRows, NOON, type OpenWarehouse } from '../support/warehouse.ts'

/** Four processes and a copy for each load: on a machine that others use, too, they take their time. */
const SHARED_MACHINE_MS = 240_000

const DUCKDB = JSON.stringify(fileURLToPath(new URL('../../src/warehouse/database/duckdb.ts', import.meta.url)))

/** What a reader saw: how often it opened the copy, and every cut that was none. */
interface Seen {
  readonly opened: number
  readonly cuts: number
  readonly wrong: readonly unknown[]
  /** What its first handle, open all the while, read at the beginning and at the end. */
  readonly first: readonly [unknown, unknown]
}

const CUT = `
  SELECT (SELECT max(load_id) FROM tidemark.loads) AS loads, (SELECT max(load_id) FROM tidemark.windows) AS windows,
    (SELECT max(load_id) FROM tidemark.marks) AS marks,
    (SELECT max(_load_id) FROM (SELECT _load_id FROM main.enquiries UNION ALL SELECT _load_id FROM main.merf_submissions)) AS rows,
    (SELECT max(_load_id) FROM (SELECT _load_id FROM main.enquiries__taxes UNION ALL SELECT _load_id FROM main.merf_submissions__person)) AS children,
    (SELECT max(status) FROM current.enquiries) AS parent, (SELECT max(rate) FROM current.enquiries__taxes) AS child`

const reader = (path: string): string => `
  const { Database } = await import(${DUCKDB})
  const open = () => Database.open(${JSON.stringify(path)}, { readOnly: true, memory: '64MB', threads: 1 })
  const cut = async (database) => (await database.rows(${JSON.stringify(CUT)}))[0]
  let going = true
  process.stdin.once('end', () => (going = false)).resume()
  const held = await open()
  const begin = await cut(held)
  console.error('reading')
  const wrong = [], seen = new Set()
  let opened = 0, last = 0
  while (going) {
    const database = await open()
    opened += 1
    const now = await cut(database)
    seen.add(now.loads)
    const isOne = [now.windows, now.marks, now.rows, now.children].every((id) => id === now.loads) && now.parent === now.child
    if (!isOne || now.loads < last) wrong.push(now)
    last = now.loads
    await database.close()
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  const first = [begin, await cut(held)]
  await held.close()
  console.log(JSON.stringify({ opened, cuts: seen.size, wrong, first }))`

/** One load of either report; the first of them writes rows, children, window and mark. */
async function load(opened: OpenWarehouse, n: number): Promise<void> {
  const observedAt = plusMs(NOON, n * 60_000)
  const marks = [{ mark: 'modified_since', value: observedAt }] as const
  const closes = [aClosedWindow({ until: observedAt, marks })]
  if (n % 2 === 0)
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: n, taxes: [{ id: 1, rate: n }] }], {
      observedAt,
      closes,
    })
  else
    await loadRows(opened, merfSubmissions, [{ submissionId: 1, formId: n, person: [{ id: 1, n }] }], {
      observedAt,
      closes,
    })
}

it('several processes read the published copy at once while loads and publishes go on', {
  tags: 'long',
  timeout: SHARED_MACHINE_MS,
}, async () => {
  await using opened = await aWarehouse()
  const path = join(opened.folder, 'published.duckdb')
  for (const n of [0, 1]) await load(opened, n)
  await opened.warehouse.publish(path)
  const readers = Array.from({ length: 3 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', reader(path)], { stdio: ['pipe', 'pipe', 'pipe'] }),
  )
  const ended = readers.map((each) => Promise.all([text(each.stdout), once(each, 'exit')]))
  const failures = readers.map((each) => text(each.stderr))
  await Promise.all(readers.map((each) => once(each.stderr, 'data')))
  for (let n = 2; n < 10; n += 1) {
    await load(opened, n)
    expect(await opened.warehouse.publish(path)).toMatchObject({ replaced: true })
  }
  for (const each of readers) each.stdin.end()
  for (const [index, [told]] of (await Promise.all(ended)).entries()) {
    const failure = await failures[index]
    expect(failure).toBe('reading\n')
    const { opened: times, cuts, wrong, first } = JSON.parse(told) as Seen
    expect(wrong).toEqual([])
    expect(times).toBeGreaterThan(2)
    expect(cuts).toBeGreaterThan(1)
    expect(first[1]).toEqual(first[0])
  }
})
