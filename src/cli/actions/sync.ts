/** `tidemark sync`: runs each report once (an incremental run), publishes, and prints a summary. */
import { reportOf } from '../../../schema/index.ts'
import { formatInstant, type Instant } from '../../instant.ts'
import type { Tidemark } from '../../library/tidemark.ts'
import type { AnswerOf, Outcome } from '../../operations/contract.ts'
import { countsLateRows } from '../../plan/lateness.ts'
import {
  counted,
  duration,
  grouped,
  line,
  problemsText,
  publishedText,
  table,
  timeText,
  zeroColumns,
} from '../layout.ts'
import { hasAskedNothing, NONE_DUE, NOTHING_ASKED } from '../progress.ts'
import type { Action } from '../shell.ts'
import { latenessText, offCureLines } from '../standingText.ts'
import { performAndPrint } from '../performAndPrint.ts'

export const sync: Action = async (shell, options, names) => {
  const startedMs = shell.clock.monotonicMs()
  const start = (tidemark: Tidemark, signal: AbortSignal) => tidemark.sync(names, { signal })
  return performAndPrint(shell, { ...options, start, showsOutcomes: true }, (answer) => {
    const elapsedMs = shell.clock.monotonicMs() - startedMs
    return {
      failed: answer.outcomes.some(({ state }) => state !== 'done' && state !== 'off'),
      document: summaryDocument(answer, elapsedMs),
      text: (width) => summaryText(answer, elapsedMs, width),
    }
  })
}

type SyncAnswer = AnswerOf<'sync'>

const COLUMNS = [
  'report',
  'state',
  { head: 'pages', narrow: 'hide' },
  'rows',
  'new',
  'changed',
  ...zeroColumns('deleted', 'rejected', 'new columns'),
  { head: 'seconds', align: 'right', narrow: 'hide' },
  'mark',
] as const

function summaryText({ outcomes, published, ...answer }: SyncAnswer, elapsedMs: number, width: number): string {
  const marks = new Map(answer.marks)
  const rows = outcomes.map((outcome) => summaryRow(outcome, marks.get(outcome.report)))
  const parts = [table(COLUMNS, rows, width), notes(outcomes)]
  if (published !== undefined) parts.push(publishedText(published))
  parts.push(`${closing(outcomes)} in ${duration(elapsedMs)}\n`)
  return parts.filter((part) => part !== '').join('\n')
}

function summaryRow(outcome: Outcome, mark: Instant | undefined): (string | number)[] {
  const { report, state, pages, figures, elapsedMs } = outcome
  if (state === 'off') return [report, state, ...COLUMNS.slice(3).map(() => ''), timeText(mark)]
  const { rows, inserted, updated, deleted, rejected, schemaChanges } = figures
  const numbers = [pages, rows, inserted, updated, deleted, rejected, schemaChanges]
  return [report, state, ...numbers, (elapsedMs / 1_000).toFixed(1), timeText(mark)]
}

function notes(outcomes: readonly Outcome[]): string {
  const off = outcomes.flatMap(({ report, offReason }) =>
    offReason === undefined ? [] : [`${report} is off: ${offReason}`, ...offCureLines(offReason)],
  )
  const noted = NOTES.flatMap((note) => outcomes.map((outcome) => ({ report: outcome.report, text: note(outcome) })))
    .filter(({ text }) => text !== '')
    .map(({ report, text }) => `${report}: ${text}`)
  return `${[...off, ...noted].map((text) => `${text}\n`).join('')}${problemsText(outcomes)}`
}

const NOTES: readonly ((outcome: Outcome) => string)[] = [
  (outcome) => (hasAskedNothing(outcome) ? NOTHING_ASKED : ''),
  ({ report, figures: { rejected } }) =>
    rejected === 0 ? '' : `${grouped(rejected)} rejected; ${shownBy('rejected_rows', report)}`,
  ({ report, figures: { misfits } }) =>
    misfits === 0
      ? ''
      : `${counted(misfits, 'value')} did not fit ${misfits === 1 ? 'its column' : 'their columns'}; ${shownBy('misfits', report)}`,
  ({ figures: { frozen } }) => (frozen.length === 0 ? '' : frozenText(frozen)),
  ({ report, figures: { late, latenessMs } }) =>
    late === 0 ? '' : `${counted(late, 'row')} came late; ${latenessText(report, latenessMs)}`,
]

const shownBy = (table: string, report: string): string =>
  `see them with: tidemark query "SELECT * FROM tidemark.${table} WHERE report = '${report}'"`

const FROZEN_SHOWN = 5

/** Lists the fields. Removes line breaks from their names, which the service has chosen. */
function frozenText(fields: readonly string[]): string {
  const shown = fields.slice(0, FROZEN_SHOWN).map(line).join(', ')
  const more = fields.length > FROZEN_SHOWN ? `, and ${grouped(fields.length - FROZEN_SHOWN)} more` : ''
  return `${counted(fields.length, 'field')} without a column, kept in _extra or _payload: ${shown}${more}; see tidemark.schema_changes`
}

function closing(outcomes: readonly Outcome[]): string {
  const count = (state: Outcome['state']) => outcomes.filter((outcome) => outcome.state === state).length
  const parts = (['done', 'failed', 'paused', 'off'] as const).map((state) => `${count(state)} ${state}`)
  return parts.filter((part, index) => index === 0 || !part.startsWith('0 ')).join(', ')
}

function summaryDocument({ outcomes, published, ...answer }: SyncAnswer, elapsedMs: number): object {
  const marks = new Map(answer.marks)
  return {
    reports: outcomes.map((outcome) => {
      const { report, runId, state, pages, figures, offReason, error, elapsedMs } = outcome
      const mark = marks.get(report)
      return {
        report,
        state,
        run_id: runId ?? null,
        pages,
        rows: figures.rows,
        new: figures.inserted,
        changed: figures.updated,
        deleted: figures.deleted,
        rejected: figures.rejected,
        misfits: figures.misfits,
        child_rows: figures.childrenWritten,
        new_columns: figures.schemaChanges,
        fields_without_column: figures.frozen,
        late_rows: countsLateRows(reportOf(report)) ? figures.late : null,
        largest_lateness_seconds: figures.late === 0 ? null : figures.latenessMs / 1_000,
        seconds: Math.round(elapsedMs) / 1_000,
        mark: mark === undefined ? null : formatInstant(mark),
        ...(offReason !== undefined && { off_because: offReason }),
        ...(hasAskedNothing(outcome) && { nothing_requested_because: NONE_DUE }),
        ...(error !== undefined && { error: { code: error.code, message: error.message, cure: error.cure } }),
      }
    }),
    published: published?.path ?? null,
    seconds: Math.round(elapsedMs) / 1_000,
  }
}
