/** Backfills that the worker carries out: the command follows them and can leave at any time, the worker goes on. */
import { errorFrom, type OutcomeDocument, type Plain } from '../../../jobs/control/wire.ts'
import type { BackfillOutcome, BackfillProgress } from '../../sync/backfill/backfill.ts'
import type { Remote } from '../control/remote.ts'
import type { BackfillEnd, BackfillRunner, BackfillSummary } from './work.ts'

interface Ended {
  readonly ends: readonly (OutcomeDocument & { readonly ended?: BackfillOutcome })[]
  readonly published?: NonNullable<BackfillSummary['published']>
  readonly publishError?: Plain
}

export const backfillInWorker =
  (worker: Remote): BackfillRunner =>
  async ({ requests, onProgress }) => {
    const backfills = requests.map(({ report, from, to }) => ({ report, from, to }))
    const { ends, published, publishError } = await worker.ask<Ended>({ do: 'backfill', backfills }, ({ progress }) => {
      if (progress !== undefined) onProgress(progress as BackfillProgress)
    })
    return {
      ends: ends.map(endOf),
      published,
      publishFailure: publishError === undefined ? undefined : errorFrom(publishError),
    }
  }

/** Windows that failed are in the outcome; an error is what stopped all of it. */
function endOf({ report, ended, error }: Ended['ends'][number]): BackfillEnd {
  if (ended !== undefined) return { report, outcome: ended }
  return error === undefined ? { report } : { report, error: errorFrom(error) }
}
