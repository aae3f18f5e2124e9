/** Converts results of operations and active runs to the objects that the API returns. */
import { formatInstant } from '../instant.ts'
import type { AnswerOf, Outcome as RunOutcome, RunningRun as ActiveRun } from '../operations/contract.ts'
import { notableFigures } from '../../jobs/runs/runs.ts'
import type { Problem } from '../status/standing.ts'
import type { Outcome, RunningRun } from './api/schemas.ts'

type RetriedReport = AnswerOf<'retry-rejected'>['retried'][number]

export const problemOf = ({ code, message, cure }: Problem): Problem => ({ code, message, cure })

export function outcomesOf(answer: unknown): Outcome[] {
  const { outcome, retried, dismissed, paused, resumed, reset, what } = answer as {
    readonly outcome?: RunOutcome
    readonly retried?: readonly RetriedReport[]
    readonly dismissed?: AnswerOf<'dismiss-rejected'>['dismissed']
    readonly paused?: readonly string[]
    readonly resumed?: readonly string[]
    readonly reset?: AnswerOf<'reset'>['reset']
    readonly what?: string
  }
  if (outcome !== undefined) return [runOutcome(outcome)]
  if (retried !== undefined) return retried.map(retriedOutcome)
  if (dismissed !== undefined)
    return dismissed.map(({ report, rows }) => plainOutcome(report, `${rows} rejected rows dismissed`))
  if (paused !== undefined) return paused.map((report) => plainOutcome(report, 'paused'))
  if (resumed !== undefined) return resumed.map((report) => plainOutcome(report, 'resumed'))
  if (reset !== undefined) return reset.map(({ report, rows }) => plainOutcome(report, `${rows} rows are read again`))
  return what === undefined ? [] : [{ report: '', state: 'cancelled', text: `cancelled: ${what}`, error: null }]
}

const plainOutcome = (report: string, state: string): Outcome => ({
  report,
  state,
  text: `${report}: ${state}`,
  error: null,
})

function runOutcome({ report, state, figures, error }: RunOutcome): Outcome {
  if (error !== undefined) {
    return { report, state, text: `${report}: ${state}: ${error.message}`, error: problemOf(error) }
  }
  const text = [`${report}: ${state}`, `${figures.rows} rows`, ...notableFigures(figures)].join(', ')
  return { report, state, text, error: null }
}

function retriedOutcome({ report, tried, loaded, rejected, withheld = 0 }: RetriedReport): Outcome {
  const again = tried === 0 ? [] : [`${loaded} of ${tried} rows loaded, ${rejected} rejected again`]
  const withoutValues = withheld === 0 ? [] : [`${withheld} kept without values can not be loaded again`]
  const parts = [...again, ...withoutValues]
  const text = `${report}: ${parts.length === 0 ? 'no rejected rows' : parts.join('; ')}`
  return { report, state: rejected > 0 ? 'rejected again' : 'done', text, error: null }
}

export function toRunningRun({ runId, report, kind, startedAt, progress }: ActiveRun): RunningRun {
  const { pages = 0, rows = 0 } = progress ?? {}
  return {
    run_id: runId,
    report,
    kind,
    started_at: formatInstant(startedAt),
    pages,
    rows,
    rows_expected: progress?.rowsExpected ?? null,
    windows: windowsOf(progress),
  }
}

function windowsOf(progress: ActiveRun['progress']): RunningRun['windows'] {
  if (progress?.windows === undefined) return null
  const { done, failed, total, msLeft = null } = progress.windows
  return { done, failed, total, ms_left: msLeft }
}
