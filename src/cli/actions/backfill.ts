/**
 * What `tidemark backfill` does: ranges checked, windows read by whoever owns the warehouse, then what came of them.
 */
import type { Instant } from '../../instant.ts'
import type { BackfillProgress } from '../../sync/backfill/backfill.ts'
import { checkRange } from '../../sync/backfill/backfillRange.ts'
import { planOnly } from '../backfill/dryRun.ts'
import { backfillHere } from '../backfill/here.ts'
import { backfillInWorker } from '../backfill/inWorker.ts'
import { hasFailed, planDocument, planText, summaryDocument, summaryText } from '../backfill/print.ts'
import type { BackfillRunner, BackfillSummary, BackfillWork } from '../backfill/work.ts'
import { configOf } from '../configOf.ts'
import { findWorker, type Remote } from '../control/remote.ts'
import { ownWork } from '../ownWork.ts'
import { windowsText } from '../progress.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { type Loudness, voices } from '../voices.ts'
import { wantedReports } from '../wanted.ts'

export interface BackfillOptions extends Loudness {
  readonly config?: string
  readonly from?: Instant
  readonly to?: Instant
  readonly dryRun?: boolean
}

export async function backfill(shell: Shell, names: readonly string[], options: BackfillOptions): Promise<ExitCode> {
  const { config: file, from, to, dryRun = false, ...loudness } = options
  const config = await configOf(shell, file)
  const requests = wantedReports(names, config).map((report) => ({ report, from, to }))
  const now = shell.clock.now()
  for (const { report } of requests) {
    const { start } = config.reports[report]
    checkRange({ report, from: from ?? start, to: to ?? now }, { start, now })
  }
  if (dryRun) {
    const { log } = voices(shell, loudness)
    const plans = await planOnly({ shell, config, log, requests })
    shell.out.write(loudness.json === true ? `${JSON.stringify(planDocument(plans), undefined, 2)}\n` : planText(plans))
    return 0
  }
  await using worker = await findWorker(shell, config)
  await using own = worker === undefined ? await ownWork(shell, config, loudness) : undefined
  const isHere = own !== undefined
  const runner = isHere ? backfillHere(own) : backfillInWorker(worker as Remote)
  using progress = (own ?? voices(shell, loudness)).view
  // Before anything else is said, the terminal is left clean.
  shell.stop.signal.addEventListener('abort', () => progress[Symbol.dispose](), { once: true })
  const onProgress = ({ report, pages, rows, ...told }: BackfillProgress) => {
    const windows = { done: told.windowsDone, failed: told.windowsFailed, total: told.windows, msLeft: told.msLeft }
    progress.onProgress({ report, pages, rows, rowsExpected: undefined, windows })
  }
  const summary = await watched(
    { shell, config, requests, onProgress },
    { runner, tells: isHere && loudness.json !== true },
  )
  progress[Symbol.dispose]()
  const failed = hasFailed(summary)
  if (loudness.json === true) shell.out.write(`${JSON.stringify(summaryDocument(summary), undefined, 2)}\n`)
  else if (loudness.quiet !== true || failed) shell.out.write(summaryText(summary))
  return failed ? 1 : 0
}

/** Runs it; whoever stops it here is told how to go on. A worker goes on with it by itself. */
async function watched(
  work: BackfillWork,
  { runner, tells }: { runner: BackfillRunner; tells: boolean },
): Promise<BackfillSummary> {
  const { shell } = work
  let last: BackfillProgress | undefined
  try {
    const summary = await runner({
      ...work,
      onProgress: (progress) => {
        last = progress
        work.onProgress(progress)
      },
    })
    shell.stop.signal.throwIfAborted()
    return summary
  } catch (error) {
    if (shell.stop.signal.aborted && tells) shell.err.write(howToGoOn(last))
    throw error
  }
}

function howToGoOn(last: BackfillProgress | undefined): string {
  const { report, backfillId, windowsDone: done, windowsFailed: failed, windows: total } = last ?? {}
  if (report === undefined || done === undefined || failed === undefined || total === undefined)
    return 'nothing was read yet; the same command begins again\n'
  return `${report}: ${windowsText({ done, failed, total })} done; the same command goes on with backfill ${backfillId}\n`
}
