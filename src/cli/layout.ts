/** Formats results for people: numbers, durations, times and tables. */
import { styleText } from 'node:util'
import Table from 'cli-table3'
import { formatInstant, type Instant } from '../instant.ts'
import type { Problem } from '../operations/contract.ts'
import type { Output } from './shell.ts'
import { grouped, wholeSeconds } from '../words.ts'

export { counted, duration, grouped, wholeSeconds } from '../words.ts'

export const timeText = (instant: Instant | undefined): string =>
  instant === undefined ? '' : wholeSeconds(formatInstant(instant))

export const line = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ')

export interface Column {
  readonly head: string
  /** The side that cells are aligned to. Default: right for columns of numbers, left for others. */
  readonly align?: 'left' | 'right'
  /** Whether a narrow terminal hides the column: always, or only if all values are 0. By default, never. */
  readonly narrow?: 'hide' | 'hide zeros'
}

const EDGES = ['top', 'bottom', 'left', 'right'].flatMap((edge) =>
  ['', '-mid', '-left', '-right'].map((end) => `${edge}${end}`),
)
const RULES_ONLY = { ...Object.fromEntries(EDGES.map((edge) => [edge, ''])), mid: '─', 'mid-mid': '──', middle: '  ' }

export const widthOf = ({ isTerminal, columns }: Output): number => (isTerminal ? columns : Number.POSITIVE_INFINITY)

export const zeroColumns = (...heads: readonly string[]): Column[] =>
  heads.map((head) => ({ head, narrow: 'hide zeros' }))

/** Returns a table as text. If the table is too wide for `width`, leaves out the `narrow` columns. */
export function table(
  columns: readonly (string | Column)[],
  rows: readonly (readonly (string | number)[])[],
  width: number = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY,
): string {
  const aligned = columns.map((column, index): Column => {
    const align = rows.some((row) => typeof row[index] === 'number') ? 'right' : 'left'
    return typeof column === 'string' ? { head: column, align } : { align, ...column }
  })
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? grouped(cell) : cell)))
  return tableWithin(width, aligned, texts)
}

function tableWithin(width: number, columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const drawn = drawTable(columns, rows)
  if (drawn.split('\n').every((text) => text.length <= width)) return hasStates(columns) ? withColours(drawn) : drawn
  const hidden = columns.findLastIndex(
    ({ narrow }, index) =>
      narrow === 'hide' || (narrow === 'hide zeros' && rows.every((row) => ['', '0'].includes(row[index] ?? ''))),
  )
  if (hidden === -1) return valueLines(columns, rows, width)
  const fewer = rows.map((row) => row.toSpliced(hidden, 1))
  return tableWithin(width, columns.toSpliced(hidden, 1), fewer)
}

function drawTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const drawn = new Table({
    head: columns.map(({ head }) => head),
    colAligns: columns.map(({ align = 'left' }) => align),
    chars: RULES_ONLY,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
  })
  drawn.push(...rows.map((row) => [...row]))
  return `${drawn.toString().replaceAll(/ +$/gm, '')}\n`
}

function valueLines(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): string {
  const indent = Math.max(...columns.map(({ head }) => head.length)) + 2
  const blocks = rows.map((row) =>
    columns.map(({ head }, index) => {
      const [first = '', ...more] = wordLines(row[index] ?? '', width - indent)
      if (first === '') return ''
      return [`${head.padEnd(indent)}${first}\n`, ...more.map((text) => `${' '.repeat(indent)}${text}\n`)].join('')
    }),
  )
  const text = blocks.map((lines) => lines.join('')).join('\n')
  return hasStates(columns) ? withColours(text) : text
}

const hasStates = (columns: readonly Column[]): boolean => ['state', 'result'].includes(columns[1]?.head ?? '')

type Colour = 'green' | 'yellow' | 'red' | 'dim'
const COLOURS = new Map<string, Colour>(
  Object.entries({
    green: ['done', 'ok', 'running'],
    yellow: ['paused', 'blocked', 'stopped', 'warn'],
    red: ['failed', 'fail'],
    dim: ['off', 'never run'],
  }).flatMap(([colour, states]) => states.map((state) => [state, colour as Colour])),
)
const STATES = new RegExp(`^(\\S+ +)(${[...COLOURS.keys()].join('|')})(?= |$)`, 'gm')

const withColours = (text: string): string =>
  text.replaceAll(
    STATES,
    (_, start: string, state: string) =>
      start + styleText(COLOURS.get(state) ?? 'dim', state, { stream: process.stdout }),
  )

function wordLines(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`
    if (lines.length === 0 || longer.length > width) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  return lines
}

/** Returns, for example, `events failed: … what to do: …`, or an empty text if `problem` is undefined. */
export const problemText = (
  subject: string,
  problem: Pick<Problem, 'code' | 'message' | 'cure'> | undefined,
  state = 'failed',
): string =>
  problem === undefined
    ? ''
    : `${`${subject} ${state}`.trimEnd()}: ${line(withoutSubject(problem.message, subject))} (${problem.code})\n  what to do: ${line(problem.cure)}\n`

interface Failure {
  readonly report: string
  readonly state?: string
  readonly error?: Pick<Problem, 'code' | 'message' | 'cure'> | null | undefined
}

/** Returns one message for each problem. Reports with the same problem share it: `events, budgets failed: …`. */
export function problemsText(outcomes: readonly Failure[]): string {
  const alike = Map.groupBy(outcomes, ({ report, error, state }) =>
    problemText(report, error ?? undefined, state).slice(report.length),
  )
  return [...alike].map(([text, all]) => text && all.map(({ report }) => report).join(', ') + text).join('')
}

export const withoutSubject = (message: string, subject: string): string =>
  message.startsWith(`${subject}: `) ? message.slice(subject.length + 2) : message

export function publishedText({ path, replaced }: { readonly path: string; readonly replaced: boolean }): string {
  if (path.startsWith('ducklake:')) return `lake: ${path}\n`
  return `published copy: ${path}${replaced ? '' : ' (unchanged)'}\n`
}
