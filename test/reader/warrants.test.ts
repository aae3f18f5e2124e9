/** An answer of `tidemark query` names how complete the reports are that its statement read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aWorldWithoutCollections as aWorld, type World } from '../cli/support.ts'
import { openReader, type Reader } from '../../src/reader/reader.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import path from 'node:path'

interface Answer {
  readonly rows: readonly Record<string, unknown>[]
  readonly reports: readonly Record<string, unknown>[]
}

let world: World

beforeAll(async () => {
  world = await aWorld({ sandbox: { rows: 30, faults: ['bad-rows@events:7'] } })
  await world.run('sync', '--quiet', 'events', 'budgets')
}, 120_000)
afterAll(() => world[Symbol.asyncDispose]())

const answerTo = async (sql: string): Promise<Answer> =>
  JSON.parse((await world.run('query', '--json', sql)).stdout) as Answer

describe('an answer', () => {
  it('names mark, gaps, deletions, rejected rows and misfits of each report that was read', async () => {
    const { rows, reports } = await answerTo('SELECT count(*) AS n FROM main.events')
    expect(rows).toEqual([{ n: expect.any(Number) as number }])
    expect(reports).toEqual([
      {
        report: 'events',
        complete_up_to: expect.stringMatching(/^20\d\d-\S+Z$/) as string,
        gaps: 0,
        deletes_visible: 'flag',
        rejected: expect.any(Number) as number,
        misfits: expect.any(Number) as number,
        not_running_because: null,
      },
    ])
    expect(Number(reports[0]?.['rejected']) + Number(reports[0]?.['misfits'])).toBeGreaterThan(0)
  })

  describe('is about the reports whose tables its statement reads', () => {
    // A command starts a process for its statement, which takes longer than the statement. These share one.
    let reader: Reader
    beforeAll(() => {
      const limits = { queryMemory: '256MB', queryDisk: '64MB', queryTimeMs: 60_000 }
      reader = openReader({ published: path.join(world.folder, 'data/published.duckdb'), limits })
    })
    afterAll(() => reader[Symbol.asyncDispose]())

    it.each([
      ['SELECT 1 FROM current.events, current.budgets LIMIT 0', ['budgets', 'events']],
      ['WITH rooms AS (FROM main.events__meeting_rooms) SELECT count(*) FROM rooms', ['events']],
      ['SELECT (SELECT count(*) FROM Budgets) AS n', ['budgets']],
      [`SELECT count(*) FROM changes.events__meeting_rooms('start')`, ['events']],
      ['SELECT 1 AS one', []],
      ['FROM tidemark.freshness', []],
      ['EXPLAIN FROM main.events', []],
    ])('%s', async (sql, reports) => {
      const { warrants } = await reader.query(sql, () => Promise.resolve(true))
      expect(warrants.map(({ report }) => report)).toEqual(reports)
    })
  })

  it('names how deletions show as tidemark.freshness does, also if rows have no deletion flag', async () => {
    await using summaries = await aWorld({ sandbox: { rows: 5, eventShape: 'summary' } })
    await summaries.run('sync', '--quiet', 'events')
    const sql = `SELECT deletes_visible FROM tidemark.freshness, main.events WHERE report = 'events' LIMIT 1`
    const { rows, reports } = JSON.parse((await summaries.run('query', '--json', sql)).stdout) as Answer
    expect(rows).toEqual([{ deletes_visible: 'diff' }])
    expect(reports).toMatchObject(rows)
  })

  it('without rows is a document, too', async () => {
    const { stdout } = await world.run('query', '--json', 'FROM main.budgets WHERE false')
    expect(JSON.parse(stdout)).toMatchObject({ rows: [], reports: [{ report: 'budgets' }] })
  })

  it('names a gap and a pause, in the table of the terminal as well', async () => {
    await world.run('pause', 'budgets')
    await using copy = await Database.open(path.join(world.folder, 'data/published.duckdb'), { memory: '256MB' })
    await copy.run(`
      INSERT INTO tidemark.covered SELECT report, scope, '1990-01-01 00:00:00+00', '1991-01-01 00:00:00+00'
      FROM tidemark.covered WHERE report = 'budgets'`)
    await copy.close()
    const { stdout } = await world.run('query', 'SELECT count(*) AS n FROM budgets')
    expect(stdout).toMatch(
      /\(1 row\)\nbudgets: complete up to \S+Z; 1 gap before that; deletions show by diff; .*not running: /,
    )
    expect((await answerTo('FROM budgets LIMIT 1')).reports).toMatchObject([{ gaps: 1 }])
  })

  it('of csv and json has rows only, since programs read it', async () => {
    const json = await world.run('query', '--format', 'json', 'SELECT 1 AS one FROM events LIMIT 1')
    expect(json.stdout).toBe('[\n{"one":1}\n]\n')
    const csv = await world.run('query', '--format', 'csv', 'SELECT 1 AS one FROM events LIMIT 1')
    expect(csv.stdout).toBe('one\n1\n')
  })
})
