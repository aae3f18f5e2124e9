/** Builds the content of dbt's `sources.yml`. */
import type { BookTable, ColumnEntry, WarehouseColumns } from './dictionary.ts'
import { reports } from './index.ts'
import type { Declaration } from './report.ts'
import { CHILD_COLUMNS, type ReportTable, tableOf, VERSION_COLUMNS } from './tables.ts'

export interface DbtInput {
  readonly database: string
  readonly columns: WarehouseColumns
  readonly books: readonly BookTable[]
  /** Empty if no report keeps a history. */
  readonly histories: readonly BookTable[]
  /** Milliseconds between two runs of each report. Undefined for a report with a cron line. */
  readonly everyMs: ReadonlyMap<string, number | undefined>
}

export type DbtValue = string | number | boolean | null | readonly DbtValue[] | { readonly [key: string]: DbtValue }
type Section = { readonly [key: string]: DbtValue }

const MAIN = 'tidemark'
const CURRENT = 'tidemark_current'
const BOOKS = 'tidemark_books'
const HISTORY = 'tidemark_history'

export function dbtSources(input: DbtInput): Section {
  const database = `{{ var('tidemark_database', '${input.database}') }}`
  const runs = Array.from(input.everyMs, ([report, everyMs]) => runTable(report, everyMs))
  const sources = [
    {
      name: MAIN,
      schema: 'main',
      description: 'All rows, also deleted ones (is_deleted), with the system columns',
      tables: reports.flatMap((report) => tablesOf(report, input.columns)),
    },
    {
      name: CURRENT,
      schema: 'current',
      description: 'The rows that are not deleted, without the system columns. Most models begin here',
      tables: reports.map(tableOf).flatMap(currentTables),
    },
    {
      name: HISTORY,
      schema: 'history',
      description: 'Every version of each row and child row. The present version has no _valid_to',
      tables: input.histories.map(versionsTable),
    },
    {
      name: BOOKS,
      schema: 'tidemark',
      description: 'The books: how far each report is known to be complete, and what was loaded, rejected, changed',
      tables: [...input.books.map(bookTable), ...runs],
    },
  ]
  const filled = sources.filter(({ tables }) => tables.length > 0)
  return { version: 2, sources: filled.map(({ name, ...section }) => ({ name, database, ...section })) }
}

function tablesOf(report: Declaration, columns: WarehouseColumns): Section[] {
  const table = tableOf(report)
  const known = columns.get(table.name) ?? []
  const parent: Section = {
    name: table.name,
    description: plain(table.comment),
    config: { loaded_at_field: '_observed_at', freshness: CHANGE_FRESHNESS },
    ...keyTests(table.name, table.key),
    columns: known.map((column) => columnOf(column, ownTests({ column, report, table }))),
  }
  const children = table.children.map((child): Section => {
    const key = [...table.key, CHILD_KEY]
    return {
      name: child.name,
      description: plain(child.comment),
      data_tests: [uniqueTest(child.name, key), parentTest(child.name, table)],
      columns: (columns.get(child.name) ?? []).map((column) =>
        columnOf(column, [...key, ...NEVER_NULL].includes(column.name) ? ['not_null'] : []),
      ),
    }
  })
  return [parent, ...children]
}

const CHILD_KEY = CHILD_COLUMNS[0]?.name ?? ''
const NEVER_NULL = ['is_deleted', '_observed_at', '_load_id']

/** Some tables may not change for a week, so dbt warns and does not fail. */
const CHANGE_FRESHNESS: Section = { warn_after: { count: 7, period: 'day' } }

interface OwnColumn {
  readonly column: ColumnEntry
  readonly report: Declaration
  readonly table: ReportTable
}

function ownTests({ column, report, table }: OwnColumn): DbtValue[] {
  const { name } = column
  const isKey = table.key.includes(name)
  const alone = isKey && table.key.length === 1 ? ['unique'] : []
  const present = isKey || NEVER_NULL.includes(name) ? ['not_null'] : []
  const values = ['flag', 'diff', 'absence']
  const evidence = name === '_delete_evidence' ? [{ accepted_values: { arguments: { values } } }] : []
  return [...present, ...alone, ...evidence, ...referenceTest(report, name)]
}

function referenceTest(report: Declaration, column: string): Section[] {
  const target = reports.find(({ name, key }) => name !== report.name && key.length === 1 && key[0] === column)
  if (target === undefined) return []
  const to = `source('${MAIN}', '${target.name}')`
  return [{ relationships: { arguments: { to, field: column }, config: { severity: 'warn' } } }]
}

const keyTests = (table: string, key: readonly string[]): Section =>
  key.length === 1 ? {} : { data_tests: [uniqueTest(table, key)] }

const uniqueTest = (table: string, key: readonly string[]): Section => ({
  unique: { name: `unique_${table}`, arguments: { column_name: keyExpression(key) } },
})

const parentTest = (child: string, parent: ReportTable): Section => ({
  relationships: {
    name: `parent_of_${child}`,
    arguments: {
      column_name: keyExpression(parent.key),
      to: `source('${MAIN}', '${parent.name}')`,
      field: keyExpression(parent.key),
    },
  },
})

/** Joins several columns into one expression, because dbt tests accept only one column. */
const keyExpression = (columns: readonly string[]): string =>
  columns.length === 1 ? (columns[0] ?? '') : `(${columns.join(', ')})`

const columnOf = ({ name, type, comment }: ColumnEntry, tests: readonly DbtValue[]): Section => ({
  name,
  data_type: type,
  ...(comment === '' ? {} : { description: plain(comment) }),
  ...(tests.length === 0 ? {} : { data_tests: tests }),
})

const currentTables = (table: ReportTable): Section[] =>
  [table, ...table.children].map(({ name, comment }) => ({ name, description: `${plain(comment)}: not deleted` }))

const bookTable = ({ name, comment, columns }: BookTable): Section => ({
  name,
  ...(comment === '' ? {} : { description: plain(comment) }),
  columns: columns.map((column) => columnOf(column, [])),
})

const versionsTable = (table: BookTable): Section => ({
  name: table.name,
  description: plain(table.comment),
  columns: table.columns.map((column) => {
    const version = VERSION_COLUMNS.find(({ name }) => name === column.name)
    return columnOf(
      { ...column, comment: version?.comment ?? column.comment },
      version?.name === '_valid_from' ? ['not_null'] : [],
    )
  }),
})

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const RUNS_MISSED_WARN = 3
const RUNS_MISSED_ERROR = 12
const WARN_MINUTES_MIN = 15

function runTable(report: string, everyMs: number = DAY_MS): Section {
  const minutes = (runs: number) => Math.max(WARN_MINUTES_MIN, Math.ceil((everyMs * runs) / MINUTE_MS))
  return {
    name: `runs_of_${report}`,
    identifier: 'runs',
    description: `Runs of ${report}; fresh as long as runs succeed`,
    config: {
      loaded_at_field: 'ended_at',
      freshness: {
        warn_after: { count: minutes(RUNS_MISSED_WARN), period: 'minute' },
        error_after: { count: minutes(RUNS_MISSED_ERROR), period: 'minute' },
        filter: `report = '${report}' AND state = 'done'`,
      },
    },
  }
}

/** Splits markers such as `{{` in a field's name, because dbt would execute them. */
const plain = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').replaceAll(/\{(?=[{%#])/g, '{ ')
