/** The data dictionary as Markdown, from the declarations alone: docs/TABLES.md is this text, held equal by a test. */
import { reports } from './index.ts'
import type { Declaration, Deletes } from './report.ts'
import { CHILD_COLUMNS, type Column, SYSTEM_COLUMNS, tableOf } from './tables.ts'

const DELETIONS: Record<Deletes, string> = {
  flag: 'by a flag in the row',
  diff: 'by the difference of two reads, with and without deleted rows',
  absence: 'by two complete reconciles in a row that did not find the row',
  none: 'entries are never deleted',
}

export function dictionary(): string {
  return [
    '# Tables',
    '',
    'Made from the declarations in `schema/reports`. A field that the specification does not document becomes a column',
    'when it is first seen; `tidemark.columns` lists those of a warehouse. `current.<table>` shows the rows that are not',
    'deleted, without the system columns.',
    '',
    ...reports.flatMap(chapter),
    '## System columns',
    '',
    'On every table of a report and of a collection:',
    '',
    ...columnTable(SYSTEM_COLUMNS),
    '',
  ].join('\n')
}

function chapter(report: Declaration): string[] {
  const table = tableOf(report)
  const children = table.children.map(
    (child) => `- \`${child.name}\`: ${child.field}, asked for by \`expand.${child.flag}\``,
  )
  return [
    `## ${table.name}`,
    '',
    `${report.meaning}. Endpoint \`${report.path}\`; key ${table.key.map((key) => `\`${key}\``).join(', ')}; deletions are seen`,
    `${DELETIONS[report.deletes]}.`,
    '',
    ...columnTable([...table.asked, ...table.fields]),
    '',
    ...(children.length === 0 ? [] : ['Collections:', '', ...children, '', childNote(table.key), '']),
  ]
}

const childNote = (key: readonly string[]): string =>
  `Each has ${[...key, ...CHILD_COLUMNS.map((column) => column.name)].map((name) => `\`${name}\``).join(', ')} and the columns found in its payload.`

function columnTable(columns: readonly Column[]): string[] {
  const rows = columns.map(({ name, type, comment }) => `| \`${name}\` | ${type} | ${comment} |`)
  return ['| column | type | meaning |', '|---|---|---|', ...rows]
}
