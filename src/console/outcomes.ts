/** Converts results of operations and active runs to the objects that the API returns. */
import { formatInstant } from '../instant.ts'
import type { AnswerOf, Outcome as RunOutcome, Progress, RunningRun as ActiveRun } from '../operations/contract.ts'
import { notableFigures } from '../../jobs/runs/runs.ts'
import type { Problem } from '../status/standing.ts'
import type { Outcome, RunningRun } from './api/schemas.ts'
import { counted, grouped } from '../words.ts'

type RetriedReport = AnswerOf<'retry-rejected'>['retried'][number]
type Result = Partial<
  { readonly outcome: RunOutcome } & AnswerOf<'retry-rejected'> &
    AnswerOf<'dismiss-rejected'> &
    AnswerOf<'pause'> &
    AnswerOf<'resume'> &
    AnswerOf<'reset'> &
    AnswerOf<'cancel'>
>

export const problemOf = ({ code, message, cure }: Problem): Problem => ({ code, message, cure })

/** Converts an event or the result of an operation to outcomes, which the page lists. */
export function outcomesOf(answer: unknown): Outcome[] {
  const { outcome, retried = [], dismissed = [], paused = [], resumed = [], reset = [], what } = answer as Result
  return [
    ...(outcome === undefined ? [] : [runOutcome(outcome)]),
    ...retried.map(retriedOutcome),
    ...dismissed.map(({ report, rows }) => plainOutcome(report, `${counted(rows, 'rejected row')} dismissed`)),
    ...paused.map((report) => plainOutcome(report, 'paused')),
    ...resumed.map((report) => plainOutcome(report, 'resumed')),
    ...reset.map(({ report, rows }) => plainOutcome(report, `${counted(rows, 'row')} to read again`)),
    ...(what === undefined ? [] : [{ report: '', state: 'cancelled', text: `cancelled: ${what}`, error: null }]),
  ]
}

const plainOutcome = (report: string, state: string): Outcome => {
  const text = `${report}: ${state}`
  return { report, state, text, error: null }
}

function runOutcome({ report, state, figures, error }: RunOutcome): Outcome {
  if (error !== undefined)
    return { report, state, text: `${report}: ${state}: ${error.message}`, error: problemOf(error) }
  const text = [`${report}: ${state}`, counted(figures.rows, 'row'), ...notableFigures(figures)].join(', ')
  return { report, state, text, error: null }
}

function retriedOutcome({ report, tried, loaded, rejected, withheld = 0 }: RetriedReport): Outcome {
  const again = tried === 0 ? [] : [`${grouped(loaded)} of ${counted(tried, 'row')} loaded, ${rejected} rejected again`]
  const withoutValues = withheld === 0 ? [] : [`${withheld} kept without values can not be loaded again`]
  const parts = [...again, ...withoutValues]
  const text = `${report}: ${parts.length === 0 ? 'no rejected rows' : parts.join('; ')}`
  return { report, state: rejected > 0 ? 'rejected again' : 'done', text, error: null }
}

export function toRunningRun({ runId, report, kind, startedAt, progress }: ActiveRun): RunningRun {
  const { pages = 0, rows = 0, rowsExpected = null, windows } = progress ?? {}
  return {
    run_id: runId,
    report,
    kind,
    started_at: formatInstant(startedAt),
    pages,
    rows,
    rows_expected: rowsExpected,
    windows: windows === undefined ? null : windowsOf(windows),
  }
}

const windowsOf = ({ msLeft, ...windows }: NonNullable<Progress['windows']>) => ({
  ...windows,
  ms_left: msLeft ?? null,
})
