/** What operations answer with, in the few words that the API and the page show. */
import type { OutcomeDocument, Plain } from '../../jobs/control/wire.ts'
import type { Outcome, Problem } from './api/shapes.ts'
import type { z } from 'zod'

interface RetriedReport {
  readonly report: string
  readonly tried: number
  readonly loaded: number
  readonly rejected: number
  readonly withheld?: number
}

type OutcomeShown = z.infer<typeof Outcome>

export const problemOf = ({ code, message, cure }: Plain): z.infer<typeof Problem> => ({
  code: String(code),
  message: String(message),
  cure: String(cure),
})

/** Of an event that came meanwhile, or of the whole answer. */
export function outcomesOf(told: unknown): OutcomeShown[] {
  const { outcome, retried, paused, resumed, what } = told as {
    readonly outcome?: OutcomeDocument
    readonly retried?: readonly RetriedReport[]
    readonly paused?: readonly string[]
    readonly resumed?: readonly string[]
    readonly what?: string
  }
  if (outcome !== undefined) return [runOutcome(outcome)]
  if (retried !== undefined) return retried.map(retriedOutcome)
  if (paused !== undefined) return paused.map((report) => plainOutcome(report, 'paused'))
  if (resumed !== undefined) return resumed.map((report) => plainOutcome(report, 'resumed'))
  return what === undefined ? [] : [{ report: '', state: 'cancelled', text: `cancelled: ${what}`, error: null }]
}

const plainOutcome = (report: string, state: string): OutcomeShown => ({
  report,
  state,
  text: `${report}: ${state}`,
  error: null,
})

function runOutcome({ report, state, figures, error }: OutcomeDocument): OutcomeShown {
  if (error !== undefined) {
    return { report, state, text: `${report}: ${state}: ${String(error['message'])}`, error: problemOf(error) }
  }
  const { rows, inserted, updated, deleted, rejected } = figures
  const parts = [`${rows} rows`, `${inserted} new`, `${updated} changed`, `${deleted} deleted`, `${rejected} rejected`]
  const shown = parts.filter((part, index) => index === 0 || !part.startsWith('0 '))
  return { report, state, text: `${report}: ${state}, ${shown.join(', ')}`, error: null }
}

function retriedOutcome({ report, tried, loaded, rejected, withheld = 0 }: RetriedReport): OutcomeShown {
  const again = tried === 0 ? [] : [`${loaded} of ${tried} rows loaded, ${rejected} rejected again`]
  const unkept = withheld === 0 ? [] : [`${withheld} kept without values can not be loaded again`]
  const parts = [...again, ...unkept]
  const text = `${report}: ${parts.length === 0 ? 'no rejected rows' : parts.join('; ')}`
  return { report, state: rejected > 0 ? 'rejected again' : 'done', text, error: null }
}
