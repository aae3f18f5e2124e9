/** Results of the books that are kept in memory: a kept result is never wrong, also after a statement fails. */
import { describe, expect, it } from 'vitest'
import { Database } from '../../src/warehouse/database/duckdb.ts'

interface Books extends AsyncDisposable {
  readonly database: Database
  /** The statements that were executed. */
  readonly statements: string[]
  marks(): Promise<unknown[]>
}

const MARKS = 'SELECT name, value FROM tidemark.marks ORDER BY name'

interface Trouble {
  /** Fails this statement after DuckDB has executed it, so that only its result is lost. */
  readonly loses?: string
  readonly lakeName?: string
}

async function someBooks({ loses, lakeName }: Trouble = {}): Promise<Books> {
  const statements: string[] = []
  let isTroubled = false
  const database = await Database.open(':memory:', {
    memory: '128MB',
    threads: 1,
    ...(lakeName === undefined ? {} : { lakeName }),
    around: async (sql, run) => {
      statements.push(sql)
      const result = await run()
      if (isTroubled && sql === loses) throw new Error('the result is lost')
      return result
    },
  })
  await database.run(`
    CREATE SCHEMA tidemark;
    CREATE TABLE tidemark.marks (name VARCHAR, value INTEGER);
    CREATE TABLE tidemark.pauses (name VARCHAR);
    INSERT INTO tidemark.marks VALUES ('events', 1)`)
  // After an empty transaction, no table counts as written.
  await database.transaction(() => Promise.resolve())
  statements.length = 0
  isTroubled = true
  const marks = () => database.cachedRows(MARKS)
  return { database, statements, marks, [Symbol.asyncDispose]: () => database.close() }
}

const reads = ({ statements }: Books): number => statements.filter((sql) => sql === MARKS).length

describe('a result that is kept in memory', () => {
  it('is read once, and a caller that changes it does not change the kept one', async () => {
    await using books = await someBooks()
    const [mark] = (await books.marks()) as [{ value: number }]
    mark.value = 99
    expect(await books.marks()).toEqual([{ name: 'events', value: 1 }])
    expect(reads(books)).toBe(1)
  })

  it('depends on the values of the query too', async () => {
    await using books = await someBooks()
    const valueOf = (name: string) =>
      books.database.cachedRows(`SELECT value FROM tidemark.marks WHERE name = '${name}'`)
    expect(await valueOf('events')).toEqual([{ value: 1 }])
    expect(await valueOf('budgets')).toEqual([])
  })

  it('stays when other tables are written, and when its table is only read', async () => {
    await using books = await someBooks()
    await books.marks()
    await books.database.run(`INSERT INTO tidemark.pauses VALUES ('events')`)
    await books.database.rows('SELECT count(*) FROM tidemark.marks')
    await books.marks()
    expect(reads(books)).toBe(1)
  })

  it('is read again when its report is written, but not kept if it has very many rows', async () => {
    await using books = await someBooks()
    await books.database.run('CREATE TABLE main."events" AS SELECT 1 AS id')
    const count = () => books.database.cachedRows('SELECT count(*) AS n FROM main."events"')
    expect(await count()).toEqual([{ n: 1 }])
    await books.database.run('INSERT INTO main."events" SELECT range FROM range(2000)')
    expect(await count()).toEqual([{ n: 2_001 }])
    const all = 'SELECT id FROM main."events"'
    for (const _ of [1, 2]) await books.database.cachedRows(all)
    expect(books.statements.filter((sql) => sql === all)).toHaveLength(2)
  })

  it.each([
    `INSERT INTO tidemark.marks VALUES ('budgets', 2)`,
    `UPDATE tidemark.marks SET value = 2`,
    `DELETE FROM tidemark.marks`,
    `MERGE INTO tidemark.marks m USING (SELECT 'events' AS name) n USING (name) WHEN MATCHED THEN UPDATE SET value = 5`,
    `SELECT 1; UPDATE tidemark.marks SET value = 3`,
    `WITH n AS (SELECT 7 AS value) INSERT INTO tidemark.marks SELECT 'x', value FROM n`,
    `ALTER TABLE tidemark.marks ADD COLUMN more INTEGER DEFAULT 4; UPDATE tidemark.marks SET value = more`,
  ])('is forgotten by the statement %s', async (sql) => {
    await using books = await someBooks()
    await books.marks()
    await books.database.run(sql)
    expect(await books.marks()).toEqual(await books.database.rows(MARKS))
  })

  it('shows the writes of a transaction inside it, and none of them after it was rolled back', async () => {
    await using books = await someBooks()
    const inside: unknown[] = []
    const work = books.database.transaction(async (sql) => {
      await sql.run('UPDATE tidemark.marks SET value = 2')
      inside.push(await sql.cachedRows(MARKS), await sql.cachedRows(MARKS))
      throw new Error('the load fails')
    })
    await expect(work).rejects.toThrow('the load fails')
    expect(inside).toEqual([[{ name: 'events', value: 2 }], [{ name: 'events', value: 2 }]])
    expect(await books.marks()).toEqual([{ name: 'events', value: 1 }])
  })

  it('is right when it is read while a transaction has read its own write and is then rolled back', async () => {
    await using books = await someBooks()
    await books.marks()
    let waiting: Promise<unknown[]> | undefined
    const work = books.database.transaction(async (sql) => {
      await sql.run('UPDATE tidemark.marks SET value = 2')
      await sql.cachedRows(MARKS)
      waiting = books.marks()
      await sql.rows(MARKS)
      throw new Error('the load fails')
    })
    await expect(work).rejects.toThrow('the load fails')
    expect(await waiting).toEqual([{ name: 'events', value: 1 }])
  })

  it('is right after a COMMIT whose result was lost', async () => {
    await using books = await someBooks({ loses: 'COMMIT' })
    await books.marks()
    const work = books.database.transaction((sql) => sql.run('UPDATE tidemark.marks SET value = 2'))
    await expect(work).rejects.toThrow('the result is lost')
    expect(await books.marks()).toEqual(await books.database.rows(MARKS))
    expect(await books.marks()).toEqual([{ name: 'events', value: 2 }])
  })

  it('is right after a write whose result was lost', async () => {
    await using books = await someBooks({ loses: 'UPDATE tidemark.marks SET value = 2' })
    await books.marks()
    await expect(books.database.run('UPDATE tidemark.marks SET value = 2')).rejects.toThrow('the result is lost')
    expect(await books.marks()).toEqual([{ name: 'events', value: 2 }])
  })

  it('is not kept in a database that other processes write too', async () => {
    await using books = await someBooks({ lakeName: 'a lake' })
    await books.marks()
    await books.marks()
    expect(reads(books)).toBe(2)
  })

  it('throws once the database is being closed, like any other query', async () => {
    await using books = await someBooks()
    await books.marks()
    await books.database.close()
    await expect(books.marks()).rejects.toThrow('is closed')
  })
})
