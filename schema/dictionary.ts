/**
 * The data dictionary as Markdown. From the declarations alone it is docs/TABLES.md, held equal by a test; with the
 * columns of a warehouse it also has what that warehouse discovered.
 */
import { reports } from './index.ts'
import type { Declaration, Deletes } from './report.ts'
import { CHILD_COLUMNS, type ChildTable, type ReportTable, SYSTEM_COLUMNS, tableOf, VERSION_COLUMNS } from './tables.ts'

/** A column as it is shown to people. */
export interface ShownColumn {
  readonly name: string
  readonly type: string
  readonly comment: string
}

/** The columns of the reports' and collections' tables that a warehouse holds, by table. */
export type HeldColumns = ReadonlyMap<string, readonly ShownColumn[]>

const DELETIONS: Record<Deletes, string> = {
  flag: 'by a flag in the row',
  diff: 'by the difference of two reads, with and without deleted rows',
  absence: 'by two complete reconciles in a row that did not find the row',
  none: 'entries are never deleted',
}

export function dictionary(held?: HeldColumns): string {
  return [
    '# Tables',
    '',
    'Made from the declarations in `schema/reports`. A field that the specification does not document becomes a column',
    'when it is first seen; `tidemark.columns` lists those of a warehouse. `current.<table>` shows the rows that are not',
    'deleted, without the system columns; `history.<table>` every version of them, where [history](#history) is on.',
    '',
    ...reports.flatMap((report) => chapter(report, held)),
    '## System columns',
    '',
    'On every table of a report and of a collection:',
    '',
    ...columnTable(SYSTEM_COLUMNS),
    '',
    ...historyChapter(),
  ].join('\n')
}

function chapter(report: Declaration, held: HeldColumns | undefined): string[] {
  const table = tableOf(report)
  const children = table.children.map((child) => `- \`${child.name}\`: ${origin(child)}`)
  return [
    `## ${table.name}`,
    '',
    `${report.meaning}. Endpoint \`${report.path}\`; key ${table.key.map((key) => `\`${key}\``).join(', ')}; deletions are seen`,
    `${DELETIONS[report.deletes]}.`,
    '',
    ...columnTable(withoutSystem(held?.get(table.name)) ?? [...table.asked, ...table.fields]),
    '',
    ...(children.length === 0 ? [] : ['Collections:', '', ...children, '', childNote(table.key), '']),
    ...(held === undefined ? [] : table.children.flatMap((child) => childChapter(child, held))),
  ]
}

function historyChapter(): string[] {
  return [
    '## History',
    '',
    'With `reports.<report>.history: true` every version is kept. `history.<table>` has the columns of the table and, after',
    'them:',
    '',
    ...columnTable(VERSION_COLUMNS),
    '',
    'The rows that were there at a moment, and not deleted, as they were then:',
    '',
    '```sql moment',
    `SET VARIABLE moment = TIMESTAMPTZ '2026-03-01 11:30:00+00';`,
    'FROM history.events WHERE NOT is_deleted',
    `  AND _valid_from <= getvariable('moment') AND (_valid_to IS NULL OR getvariable('moment') < _valid_to);`,
    '```',
    '',
    '| set for | it is kept in |',
    '|---|---|',
    ...reports.map(tableOf).map((table) => `| \`${table.name}\` | ${versionsOf(table)} |`),
    '',
  ]
}

const versionsOf = ({ name, children }: ReportTable): string =>
  [name, ...children.map((child) => child.name)].map((each) => `\`history.${each}\``).join(', ')

const origin = (child: ChildTable): string => `${child.field}, asked for by \`expand.${child.flag}\``

const childNote = (key: readonly string[]): string =>
  `Each has ${[...key, ...CHILD_COLUMNS.map((column) => column.name)].map((name) => `\`${name}\``).join(', ')} and the columns found in its payload.`

function childChapter(child: ChildTable, held: HeldColumns): string[] {
  const columns = withoutSystem(held.get(child.name))
  return columns === undefined ? [] : [`### ${child.name}`, '', `${origin(child)}.`, '', ...columnTable(columns), '']
}

const SYSTEM: ReadonlySet<string> = new Set(SYSTEM_COLUMNS.map(({ name }) => name))

const withoutSystem = (columns: readonly ShownColumn[] | undefined): readonly ShownColumn[] | undefined =>
  columns?.filter(({ name }) => !SYSTEM.has(name))

function columnTable(columns: readonly ShownColumn[]): string[] {
  const rows = columns.map(({ name, type, comment }) => `| \`${name}\` | ${type} | ${cell(comment)} |`)
  return ['| column | type | meaning |', '|---|---|---|', ...rows]
}

/** A field's name may hold anything; a bar or a line break would tear the table. */
const cell = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').replaceAll('|', '\\|')
