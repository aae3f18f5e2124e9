/** `tidemark backfill`: reads ranges of reports again, in windows, and prints the result. */
import type { Instant } from '../../instant.ts'
import type { Progress } from '../../operations/contract.ts'
import { planBackfills } from '../../operations/planBackfills.ts'
import { checkRange } from '../../sync/backfill/backfillRequest.ts'
import { hasFailed, planDocument, planText, summaryDocument, summaryText } from '../backfillText.ts'
import { print, type CommandOptions, openOutputs } from '../commandOutput.ts'
import { windowsText } from '../progress.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { performFor } from '../surroundings.ts'
import { selectReports } from '../reportSelection.ts'

export interface BackfillOptions extends CommandOptions {
  readonly from?: Instant
  readonly to?: Instant
  readonly dryRun?: boolean
}

export async function backfill(shell: Shell, names: readonly string[], options: BackfillOptions): Promise<ExitCode> {
  const { config, from, to, dryRun = false, ...output } = options
  const { clock, stop } = shell
  const backfills = selectReports(names, config).map((report) => ({ report, from, to }))
  const now = clock.now()
  for (const { report } of backfills) {
    const { start } = config.reports[report]
    checkRange({ report, from: from ?? start, to: to ?? now }, { start, now })
  }
  if (dryRun) {
    const { log } = openOutputs(shell, output)
    const plans = await planBackfills(backfills, { config, clock, signal: stop.signal, log })
    const { json = false } = output
    return print(shell, { json }, { failed: false, document: () => planDocument(plans), text: () => planText(plans) })
  }
  let last: Progress | undefined
  let isHere = true
  const settings = {
    config,
    output,
    onBegin: (where: 'worker' | 'here') => (isHere = where === 'here'),
    onProgress: (progress: Progress) => (last = progress),
  }
  const answer = await performFor(shell, settings, { do: 'backfill', backfills }).catch((error: unknown) => {
    if (stop.signal.aborted && isHere && output.json !== true) shell.err.write(howToContinue(last))
    throw error
  })
  return print(shell, output, {
    failed: hasFailed(answer),
    document: () => summaryDocument(answer),
    text: () => summaryText(answer),
  })
}

/** Returns how to continue a backfill after its command was stopped. A worker continues it without a command. */
function howToContinue({ report, backfillId, windows }: Partial<Progress> = {}): string {
  if (report === undefined || windows === undefined) return 'nothing was read yet; the same command begins again\n'
  return `${report}: ${windowsText(windows)} done; the same command goes on with backfill ${backfillId}\n`
}
