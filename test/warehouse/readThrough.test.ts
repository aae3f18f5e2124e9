/** Which side of a join DuckDB holds in memory, as it says itself: never a load's rows, of which there may be many. */
import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { events } from '../../schema/reports/events.ts'
import type { AroundStatement } from '../../src/warehouse/database/duckdb.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aFolder, loadPages } from '../support/warehouse.ts'

/** A part of what DuckDB tells of a statement that has run; a join's first child is read through, its second held. */
interface Operator {
  readonly operator_name?: string
  readonly children: readonly Operator[]
}

const withAllBelow = (operator: Operator): Operator[] => [operator, ...operator.children.flatMap(withAllBelow)]
const namesIn = (operator: Operator) => withAllBelow(operator).map((each) => each.operator_name)

it('the rows of a load are read through where they meet their pages, however many pages there are', {
  tags: 'long',
}, async () => {
  await using folder = await aFolder()
  const profile = `${folder.path}/profile.json`
  const readers = ['INSERT INTO main."events"', 'TEMP TABLE staged AS']
  const joins: unknown[] = []
  const around: AroundStatement = async (sql, run) => {
    const result = await run()
    if (sql.includes('read_json(') && readers.some((reader) => sql.includes(reader))) {
      const all = withAllBelow(JSON.parse(await readFile(profile, 'utf8')) as Operator)
      const sides = all
        .filter((each) => each.operator_name === 'HASH_JOIN')
        .map(({ children }) => children.map(namesIn))
      joins.push(sides)
    }
    return result
  }
  const path = `${folder.path}/warehouse.duckdb`
  await using warehouse = await Warehouse.open({ path, memory: '200MB', around })
  await warehouse.rows(`SET enable_profiling = 'json'`)
  await warehouse.rows(`SET profiling_output = '${profile}'`)
  // DuckDB takes any file of lines for a small one: of so many pages it would hold the rows.
  const pages = Array.from({ length: 150 }, (_, n) => ({ rows: [{ eventId: n, name: 'n', isDeleted: false }] }))
  const opened = { warehouse, path, folder: folder.path, [Symbol.asyncDispose]: () => Promise.resolve() }
  const readThrough = [[expect.arrayContaining(['READ_JSON']), ['SEQ_SCAN']]]
  await loadPages(opened, events, { pages })
  expect(joins).toEqual([readThrough])
  // Read again they are not new: what was tried first doesn't count, then they are staged.
  await loadPages(opened, events, { pages })
  expect(joins).toEqual([readThrough, readThrough, readThrough])
})
