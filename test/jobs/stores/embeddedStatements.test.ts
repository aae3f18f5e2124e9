/** What the embedded queue costs: each statement is prepared once, and no events are written, because nothing reads them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Housekeeping } from '../../../jobs/owner/housekeeping.ts'
import type { SharedContext } from '../../../src/sync/context.ts'
import { JobQueues } from '../../../jobs/queue/jobQueues.ts'
import { EmbeddedPool, PREPARED_STATEMENTS_MAX } from '../../../jobs/stores/embeddedPool.ts'
import { openStore, PREFIX } from '../../../jobs/stores/openStore.ts'
import { systemClock } from '../../../src/clock.ts'
import { createLog } from '../../../src/log.ts'
import { forwardClock } from '../../support/forwardClock.ts'
import { copyEmbeddedStore } from '../../support/templates.ts'
import { withMethods } from '../../support/withMethods.ts'

const NAMES = 'SELECT statement FROM pg_prepared_statements'
let folder: string
let directory: string

const openPool = () =>
  EmbeddedPool.open({
    directory,
    schema: PREFIX,
    clock: systemClock,
    onError: (error) => {
      throw error
    },
  })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-statements-'))
  directory = join(folder, 'queue')
  await copyEmbeddedStore(directory)
}, 300_000)

afterAll(() => rm(folder, { recursive: true }))

it('a text is prepared once, also if callers send it at the same time', async () => {
  const pool = await openPool()
  const halves = await Promise.all([10, 20, 30].map((n) => pool.query('SELECT $1::int / 2 AS half', [n])))
  expect(halves.map(({ rows }) => rows)).toEqual([[{ half: 5 }], [{ half: 10 }], [{ half: 15 }]])
  expect((await pool.query(NAMES)).rows).toEqual([{ statement: 'SELECT $1::int / 2 AS half' }])
  await pool.end()
})

it('no more texts are kept prepared than the limit, and further texts have right results too', async () => {
  const pool = await openPool()
  const numbers = Array.from({ length: PREPARED_STATEMENTS_MAX + 3 }, (_, n) => n)
  for (const _ of [1, 2])
    for (const n of numbers)
      expect((await pool.query(`SELECT $1::int + ${n} AS sum`, [1])).rows).toEqual([{ sum: n + 1 }])
  const names = `SELECT count(*)::int AS count FROM pg_prepared_statements WHERE name <> ''`
  expect((await pool.query(names)).rows).toEqual([{ count: PREPARED_STATEMENTS_MAX }])
  await pool.end()
})

it('a value of each type comes back as it was sent', async () => {
  const pool = await openPool()
  const values = [
    'it\'s "quoted"',
    null,
    true,
    9_007_199_254_740_991,
    ['a,b', 'c"d', '{}'],
    '{"k": [1, "ü"]}',
    undefined,
  ]
  const { rows } = await pool.query(
    'SELECT $1::text AS a, $2::text AS b, $3::boolean AS c, $4::bigint AS d, $5::text[] AS e, $6::jsonb AS f, $7::int AS g',
    values,
  )
  const [a, b, c, , e] = values
  expect(rows).toEqual([{ a, b, c, d: '9007199254740991', e, f: { k: [1, 'ü'] }, g: null }])
  await pool.end()
})

it('an error has its code and details, and the same text can be sent again', async () => {
  const pool = await openPool()
  const wrong = () => pool.query('SELECT no_such_function($1)', ['x'])
  for (const _ of [1, 2]) await expect(wrong()).rejects.toMatchObject({ code: '42883' })
  const divide = async (by: number) => (await pool.query('SELECT 6 / $1::int AS n', [by])).rows
  for (const _ of [1, 2]) await expect(divide(0)).rejects.toMatchObject({ code: '22012' })
  expect(await divide(3)).toEqual([{ n: 2 }])
  const raise = `CREATE FUNCTION pg_temp.fail(text) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'no %', $1 USING ERRCODE = 'BM001', DETAIL = '-6'; END $$`
  await pool.query(raise)
  const failing = pool.query('SELECT pg_temp.fail($1)', ['lock'])
  await expect(failing).rejects.toMatchObject({ code: 'BM001', detail: '-6', message: 'no lock' })
  await pool.end()
  await expect(divide(3)).rejects.toThrow('the embedded queue is closed')
})

it('a session reads its own changes in a transaction, and other sessions read them after its end', async () => {
  const pool = await openPool()
  await pool.query('CREATE TABLE IF NOT EXISTS kept (n int)')
  const [one, two] = [await pool.connect(), await pool.connect()]
  await one.query('BEGIN')
  await one.query('INSERT INTO kept VALUES ($1)', [1])
  const other = two.query<{ n: number }>('SELECT n FROM kept WHERE n = $1', [1])
  await one.query('ROLLBACK')
  expect((await other).rows).toEqual([])
  one.release()
  two.release()
  await pool.end()
})

it('jobs come and go without events', async () => {
  const store = await openStore('embedded', { directory, clock: systemClock, log: createLog({ level: 'silent' }) })
  const queues = new JobQueues(store)
  await queues.addIncremental('events')
  await queues.addIncremental('events')
  const done = Promise.withResolvers<unknown>()
  const worker = store.worker('incremental', async (job) => done.resolve(job.data))
  expect(await done.promise).toEqual({ report: 'events' })
  await worker.close()
  await store.close()
  const pool = await openPool()
  const { rows } = await pool.query('SELECT state, (SELECT count(*) FROM event) AS events FROM job')
  expect(rows).toEqual([{ state: 'completed', events: '0' }])
  await pool.end()
})

it('a publication of marks is requested once until it has ended or would begin', async () => {
  const clock = forwardClock()
  const requested: string[] = []
  const queues = withMethods({} as JobQueues, { addPublication: async (changed) => void requested.push(changed) })
  const warehouse = { publish: async (path: string) => ({ path, replaced: false }) }
  const context = { clock, warehouse } as unknown as SharedContext
  const housekeeping = new Housekeeping({
    context,
    queues,
    log: createLog({ level: 'silent' }),
    published: '',
    historyMs: 0,
  })
  const taken = async (...changes: readonly ('rows' | 'marks')[]) => {
    for (const changed of changes) await housekeeping.requestPublication(changed)
    return requested.splice(0)
  }
  expect(await taken('marks', 'marks', 'rows', 'rows', 'marks')).toEqual(['marks', 'rows', 'rows'])
  clock.pass(60_000)
  expect(await taken('marks', 'marks')).toEqual(['marks'])
  await housekeeping.publish()
  expect(await taken('marks', 'marks')).toEqual(['marks'])
})
