/**
 * Outcomes and errors on their way between the worker and a command: plain values there, the real ones at either end.
 */
import { errorCodes, SyncError } from '../../src/errors.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'

export type Plain = { readonly [name: string]: unknown }

export type OutcomeDocument = Omit<ReportOutcome, 'error'> & { readonly error?: Plain }

export function outcomeDocument({ error, ...outcome }: ReportOutcome): OutcomeDocument {
  return error === undefined ? outcome : { ...outcome, error: error.toJSON() }
}

export function outcomeFrom({ error, ...outcome }: OutcomeDocument): ReportOutcome {
  return error === undefined ? outcome : { ...outcome, error: errorFrom(error) }
}

export function errorFrom({ code, message, cure, report, ...data }: Plain): SyncError {
  const known = errorCodes.find((each) => each === code) ?? 'UNEXPECTED'
  const named = typeof report === 'string' ? { report } : {}
  return new SyncError(known, String(message), { cure: String(cure), data, ...named })
}
