/** Routes of the explorer, for tables and SQL statements. Each request starts a reader process. */
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { type SyncError, usageError } from '../../errors.ts'
import { columnsSql, readAnswer, type ReadAnswer, TABLES_SQL } from '../../reader/answers.ts'
import type { Reader } from '../../reader/reader.ts'
import { warrantText } from '../../reader/warrants.ts'
import { name } from '../../warehouse/database/sql.ts'
import { type Api, answers, limitedTo } from './api.ts'
import { QueryAnswer, Statement, Tables } from './schemas.ts'

/** Statements and lists have separate limits, so that long statements do not block lists. */
const STATEMENTS_MAX = 2
const LISTS_MAX = 4
const SAMPLE_ROWS = 10
const ROWS_MAX = 10_000
/** Longer results are cut off at this length, because the worker keeps the whole result in memory. */
const CHARS_MAX = 4_000_000

const TablesQuery = z.strictObject({ table: z.string().max(200).optional().describe('Such as current.events') })

type Read = (sql: string, rowsMax?: number) => Promise<QueryAnswer>

export function addQueryRoutes(api: Api, newReader: () => Reader): void {
  const reading = (max: number) => {
    const limit = limitedTo(max, 'statements already run')
    return <Result>(reply: FastifyReply, work: (read: Read) => Promise<Result>): Promise<Result> =>
      limit(reply, async (signal) => {
        await using reader = newReader()
        const options = { signal, charsMax: CHARS_MAX }
        return await work(async (sql, rowsMax = ROWS_MAX) =>
          toAnswer(await readAnswer(reader, { sql, rowsMax, ...options })),
        )
      })
  }
  const [statements, lists] = [reading(STATEMENTS_MAX), reading(LISTS_MAX)]
  const listing = answers(Tables, 'Tables of the published copy, and the content of one', { querystring: TablesQuery })
  api.get('/api/tables', listing, ({ query: { table } }, reply) =>
    lists(reply, async (read) => {
      const tables = await read(TABLES_SQL)
      if (table === undefined) return { tables, table: null }
      if (!tables.rows.some(([name]) => name === table)) throw unknownTable(table)
      const from = `FROM ${table.split('.').map(name).join('.')}`
      const [columns, count] = [await read(columnsSql(table)), await read(`SELECT count(*) AS rows ${from}`)]
      return { tables, table: { name: table, columns, count, sample: await read(`${from} LIMIT ${SAMPLE_ROWS}`) } }
    }),
  )
  const running = answers(QueryAnswer, 'Runs one reading statement on the published copy', { body: Statement })
  api.post('/api/query', { ...running, config: { forViewers: true } }, ({ body: { sql, limit } }, reply) =>
    statements(reply, (read) => read(sql, limit)),
  )
}

function unknownTable(table: string): SyncError {
  const cure = 'The explorer and /api/tables list all tables. A name has a schema, such as current.events.'
  return usageError(`there is no table ${table} in the published copy`, cure, { status: 404 })
}

const toAnswer = ({ columns, rows, more, warrants }: ReadAnswer): QueryAnswer => ({
  columns: [...columns],
  rows: rows.map((row) => row.map((cell) => cell?.text ?? null)),
  more,
  reports: warrants.map((each) => ({ ...each, text: warrantText(each) })),
})
