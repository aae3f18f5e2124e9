/** Builds the data dictionary (docs/TABLES.md) as Markdown. */
import { BOOK_COLUMNS } from './books.ts'
import { reports } from './index.ts'
import type { Declaration, Deletes } from './report.ts'
import { partsOf, VALUES } from './values.ts'
import { CHILD_COLUMNS, type ChildTable, type ReportTable, SYSTEM_COLUMNS, tableOf, VERSION_COLUMNS } from './tables.ts'

export interface ColumnEntry {
  readonly name: string
  readonly type: string
  readonly comment: string
}

export type WarehouseColumns = ReadonlyMap<string, readonly ColumnEntry[]>

export interface BookTable {
  readonly name: string
  readonly comment: string
  readonly columns: readonly ColumnEntry[]
}

const DELETIONS: Record<Deletes, string> = {
  flag: 'a row of the full shape has a flag (`is_deleted`). Rows of the summary shape have no flag, so they are read with and without deleted rows, as budgets are',
  diff: 'each window is read with and without deleted rows. A row that only the first read contains is deleted, unless a third read finds it, because it was edited between the two reads',
  absence:
    'within two runs, a row that the service no longer returns is marked with `is_deleted = true`: a comparison of counts finds it. Reconciles find it too. Nothing is marked while the report has filters',
  none: 'entries are never marked as deleted. An entry that is missing when its span of time is read again is removed',
}

const SHAPES =
  '- Shapes: a row of the full shape has a field for each column. A row of the summary shape has `eventId`, `eventName` (column\n' +
  '  `name`), `modifiedAt` (`record_modified` and `aggregate_record_modified`) and `totalChanges`, and leaves other columns as\n' +
  '  they are. The specification does not name which shape a response has: Tidemark accepts both, also mixed.'

/** Returns the dictionary. With `stored`, also lists the columns of that warehouse. */
export function dictionary(books: readonly BookTable[], stored?: WarehouseColumns): string {
  const blocks = [
    '# Tables',
    'For people who write queries: every table and every documented column, with its type and meaning. How to query them is\n' +
      'in [READING.md](READING.md). The columns of your own copy, also those of undocumented fields, are printed by\n' +
      '`npx tidemark schema --format markdown` and by this statement:',
    '```sql\n' +
      `SELECT column_name, data_type, comment FROM duckdb_columns() WHERE schema_name = 'current' AND table_name = 'events'\n` +
      '```',
    markdownTable('table | contains | key | child tables', [
      ...reports.map(tableOf).map(indexRow),
      '[tidemark.…](#books) | the books: how complete each table is, runs, loads, rejected rows | – | –',
    ]),
    markdownTable('schema | contains', [
      '`current` | the rows that are not deleted, without the [system columns](#system-columns): begin there',
      '`main` | all rows, deleted ones too, with the [system columns](#system-columns)',
      '`history` | every version of every row, for reports with [history](#history)',
      '`changes` | one function per table: `FROM changes.events(cursor)` returns the rows that changed since the cursor',
      '`tidemark` | the [books](#books)',
    ]),
    'A service sends more fields than its specification documents. Each such field becomes a column when it is first seen;\n' +
      '`tidemark.columns` lists these columns.',
    ...reports.flatMap((report) => chapter(report, stored)),
    '## System columns',
    'Every table of a report or of a collection has these columns, too:',
    columnTable(SYSTEM_COLUMNS),
    '## Child tables',
    'Each table of a collection has the key of its parent, one column for each field of its items, the system columns, and:',
    columnTable(CHILD_COLUMNS),
    ...valuesChapter(),
    ...historyChapter(),
    ...booksChapter(books),
  ]
  return `${blocks.join('\n\n')}\n`
}

function chapter(report: Declaration, stored: WarehouseColumns | undefined): string[] {
  const table = tableOf(report)
  const children = table.children.map((child) => `- \`${child.name}\`: ${origin(child)}`).join('\n')
  const facts = [
    `- Endpoint: \`${report.path}\``,
    `- Key: ${codes(table.key)}`,
    `- Deletions: ${DELETIONS[report.deletes]}.`,
    ...(Object.values(report.fields).some(({ also }) => also !== undefined) ? [SHAPES] : []),
  ]
  return [
    `## ${table.name}`,
    `${report.meaning}.`,
    facts.join('\n'),
    columnTable(withoutSystem(stored?.get(table.name)) ?? [...table.asked, ...table.fields]),
    ...(children === '' ? [] : ['Child tables, one for each collection:', children, childNote(table.key)]),
    ...(stored === undefined ? [] : table.children.flatMap((child) => childChapter(child, stored))),
  ]
}

function valuesChapter(): string[] {
  const rows = Object.entries(VALUES).map(([type, { takes, examples, misfits }]) => {
    const stored = examples.map((example) => `\`${partsOf(example).join('` → `')}\``).join(', ')
    return `${type} | ${takes} | ${stored} | ${misfits.length === 0 ? 'none' : codes(misfits)}`
  })
  return [
    '## Values',
    'What each type takes is the same for documented columns, discovered columns and columns of collections. A value that its\n' +
      'column does not take is a misfit. The column is NULL, and the value is in `_extra` as it was sent, in a collection in\n' +
      '`_payload`. `tidemark.misfits` lists it until a later version of the row fits. White space around a value does not\n' +
      'count. An empty text in a typed column is NULL and no misfit.',
    'A column keeps its type, but a BIGINT column becomes DECIMAL(38,9) for a number that needs it. A new field becomes\n' +
      'TIMESTAMPTZ only when each value of its first load is a full date-time, such as `2026-03-01T12:00:00Z`.',
    markdownTable('type | takes | stored as | misfits', rows),
  ]
}

function historyChapter(): string[] {
  const rows = reports.map(tableOf).map(({ name, children }) => {
    const tables = [name, ...children.map((child) => child.name)]
    return `\`${name}\` | ${codes(tables.map((each) => `history.${each}`))}`
  })
  return [
    '## History',
    'The setting `reports.<report>.history: true` keeps every version of every row. `history.<table>` has the columns of the\n' +
      'table and two more:',
    columnTable(VERSION_COLUMNS),
    'This query returns the events as they were at one moment:',
    '```sql moment\n' +
      `SET VARIABLE moment = TIMESTAMPTZ '2026-03-01 11:30:00+00';\n` +
      'FROM history.events WHERE NOT is_deleted\n' +
      `  AND _valid_from <= getvariable('moment') AND (_valid_to IS NULL OR getvariable('moment') < _valid_to);\n` +
      '```',
    markdownTable('report | its history tables', rows),
  ]
}

const codes = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')

const indexRow = ({ name, comment, key, children }: ReportTable): string =>
  `[${name}](#${name}) | ${comment} | ${codes(key)} | ${children.length === 0 ? '–' : children.length}`

const QUESTIONS = [
  ['How complete is a report, and why not more?', 'freshness'],
  ['Which rows could not be stored, and why?', 'rejected_rows'],
  ['Which columns are new or were widened?', 'schema_changes'],
  ['Which fields became columns?', 'columns'],
  ['What ran, how long, and why did a run fail?', 'runs'],
  ['Which load wrote a row (`_load_id`)?', 'loads'],
  ['Which time was read, and how was that proven?', 'windows'],
  ['Which time was read without a gap?', 'covered'],
  ['What did the last reconcile find?', 'reconciles'],
  ['Which audit trails were skipped?', 'skipped_records'],
  ['Since when are versions kept?', 'histories'],
] as const

function booksChapter(books: readonly BookTable[]): string[] {
  const rows = QUESTIONS.map(([question, name]) => `${question} | [${name}](#tidemark${name})`)
  return [
    '## Books',
    'Schema `tidemark`. Begin with the view `freshness`: one row for each report. Times without another clock in their\n' +
      'meaning are of the machine that runs Tidemark.',
    markdownTable('question | table', rows),
    'The other tables are for Tidemark itself, and can change between versions.',
    ...books
      .toSorted((a, b) => Number(b.name === 'freshness') - Number(a.name === 'freshness'))
      .flatMap(({ name, comment, columns }) => [
        `### tidemark.${name}`,
        `${comment}.`,
        columnTable(
          columns.map((column) => ({ ...column, comment: column.comment || (BOOK_COLUMNS[column.name] ?? '') })),
        ),
      ]),
  ]
}

const origin = (child: ChildTable): string =>
  `the collection \`${child.field}\` (requested by \`expand.${child.flag}\`)`

const childNote = (key: readonly string[]): string =>
  `Each child table has ${codes([...key, ...CHILD_COLUMNS.map((column) => column.name)])} ([meaning](#child-tables)) and one column per field of its items.`

function childChapter(child: ChildTable, stored: WarehouseColumns): string[] {
  const columns = withoutSystem(stored.get(child.name))
  return columns === undefined ? [] : [`### ${child.name}`, `${origin(child)}.`, columnTable(columns)]
}

const SYSTEM: ReadonlySet<string> = new Set(SYSTEM_COLUMNS.map(({ name }) => name))

const withoutSystem = (columns: readonly ColumnEntry[] | undefined): readonly ColumnEntry[] | undefined =>
  columns?.filter(({ name }) => !SYSTEM.has(name))

function columnTable(columns: readonly ColumnEntry[]): string {
  const rows = columns.map(({ name, type, comment }) => `\`${name}\` | ${type} | ${cell(comment)}`)
  return markdownTable('column | type | meaning', rows)
}

function markdownTable(head: string, rows: readonly string[]): string {
  const rule = `|${'---|'.repeat(head.split(' | ').length)}`
  return [`| ${head} |`, rule, ...rows.map((row) => `| ${row} |`)].join('\n')
}

/** A bar or a line break in a field's name would break the Markdown table. */
const cell = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').replaceAll('|', '\\|')
