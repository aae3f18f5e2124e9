/** Serves the published copy to assistants over the Model Context Protocol. */
import { type CallToolResult, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { asSyncError } from '../errors.ts'
import { turns } from '../turns.ts'
import { jsonOf } from '../warehouse/database/cells.ts'
import { text } from '../warehouse/database/sql.ts'
import { columnsSql, readAnswer, TABLES_SQL } from './answers.ts'
import type { Reader } from './reader.ts'

const ROWS_USUAL = 100
const ROWS_MAX = 1_000
/** Longer answers are cut, because an assistant can read only a limited amount of text. */
const ANSWER_CHARS_MAX = 200_000

const INSTRUCTIONS = `Tables of a reporting service, read with DuckDB SQL. Begin with list_tables.
Schema current has the rows that are not deleted, main has all rows with is_deleted, tidemark has the books.
Each answer names its reports: name the time up to which they are complete, their gaps and rejected rows with your answer.
Amounts are in the currency of the column target_currency or currency. Times are UTC.`

const limit = z.int().min(1).max(ROWS_MAX).default(ROWS_USUAL).describe('The most rows to return')
const report = z.string().optional().describe('Such as events; all reports if it is left out')

const runsSql = (name: string | undefined): string =>
  `FROM tidemark.runs ${name === undefined ? '' : `WHERE report = ${text(name)} `}ORDER BY started_at DESC`

export function mcpServer(reader: Reader, version: string): McpServer {
  const server = new McpServer({ name: 'tidemark', version }, { instructions: INSTRUCTIONS })
  const inTurn = turns()
  const read = (statement: ReadStatement) => inTurn(() => readRows(reader, statement))
  const tool = <Input extends z.ZodType>(name: string, { description, input, sqlOf, whenEmpty }: Tool<Input>) =>
    server.registerTool(
      name,
      { description, inputSchema: input, annotations: { readOnlyHint: true, openWorldHint: false } },
      (async (given: z.output<Input>) => {
        const { limit: rowsMax = ROWS_MAX } = given as { limit?: number }
        return await read({ sql: sqlOf(given), rowsMax, whenEmpty }).catch(failure)
      }) as never,
    )
  tool('list_tables', {
    description: 'All tables and views with their comments',
    input: z.strictObject({}),
    sqlOf: () => TABLES_SQL,
  })
  tool('describe_table', {
    description: 'The columns of a table with types and comments',
    input: z.strictObject({ table: z.string().describe('Such as current.events') }),
    sqlOf: ({ table }) => columnsSql(table),
    whenEmpty: 'There is no such table. The tool list_tables names all tables.',
  })
  tool('query', {
    description: 'Runs one reading statement in DuckDB SQL and returns its rows',
    input: z.strictObject({ sql: z.string(), limit }),
    sqlOf: ({ sql }) => sql,
  })
  tool('freshness', {
    description:
      'For each report: how complete it is (mark, lag), which deletions show, rejected rows, problems in words',
    input: z.strictObject({}),
    sqlOf: () => 'FROM tidemark.freshness',
  })
  tool('runs', {
    description: 'The last runs, newest first, with rows and errors',
    input: z.strictObject({ report, limit }),
    sqlOf: ({ report: name }) => runsSql(name),
    whenEmpty: 'There is no run of this report. The tool freshness names the reports.',
  })
  return server
}

interface Tool<Input extends z.ZodType> {
  readonly description: string
  readonly input: Input
  readonly sqlOf: (given: z.output<Input>) => string
  readonly whenEmpty?: string
}

interface ReadStatement {
  readonly sql: string
  readonly rowsMax: number
  readonly whenEmpty: string | undefined
}

async function readRows(reader: Reader, { sql, rowsMax, whenEmpty }: ReadStatement): Promise<CallToolResult> {
  const { columns, rows, more, warrants } = await readAnswer(reader, { sql, rowsMax, charsMax: ANSWER_CHARS_MAX })
  if (rows.length === 0 && whenEmpty !== undefined)
    return { content: [{ type: 'text', text: whenEmpty }], isError: true }
  const objects = rows.map(
    (row) => `{${row.map((cell, index) => `${JSON.stringify(columns[index])}:${jsonOf(cell)}`).join(',')}}`,
  )
  const answer = `{"rows":[\n${objects.join(',\n')}\n],"more":${more},"reports":${JSON.stringify(warrants)}}`
  return { content: [{ type: 'text', text: answer }] }
}

/** Returns the error as an answer, so that the assistant can correct its statement. */
function failure(error: unknown): CallToolResult {
  const { code, message, cure } = asSyncError(error)
  return { content: [{ type: 'text', text: `${code}: ${message}\nWhat to do: ${cure}` }], isError: true }
}
