/** `tidemark wait`: ends as soon as the published copy is complete, so that the next job of a schedule can begin. */
import { reportNames } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import { type Readiness, type WaitGoal, waitForReports } from '../../operations/waitForReports.ts'
import { type CommandOptions, print } from '../commandOutput.ts'
import { requireReportNames } from '../reportSelection.ts'
import type { ExitCode, Shell } from '../shell.ts'

export interface WaitOptions extends CommandOptions {
  readonly until?: Instant
  /** Maximum age of the mark in milliseconds. */
  readonly fresh?: number
  /** Milliseconds. */
  readonly timeout: number
}

export async function wait(shell: Shell, names: readonly string[], options: WaitOptions): Promise<ExitCode> {
  const { config, timeout: timeoutMs } = options
  const named = requireReportNames(names)
  const reports = reportNames.filter((name) =>
    named.length === 0 ? config.reports[name].enabled : named.includes(name),
  )
  const request = { reports, goal: goalOf(options), timeoutMs }
  const found = await waitForReports(config, request, { clock: shell.clock, signal: shell.stop.signal })
  const failed = found.some(({ state }) => state !== 'complete')
  print(shell, options, { failed, document: () => ({ reports: found }), text: () => found.map(lineOf).join('') })
  return found.some(({ state }) => state === 'stopped') ? 3 : failed ? 1 : 0
}

const lineOf = ({ report, state, mark, reason }: Readiness): string =>
  `${report}: ${state === 'complete' ? `complete up to ${mark}` : `not complete: ${reason}`}\n`

function goalOf({ until, fresh }: WaitOptions): WaitGoal {
  if (until !== undefined && fresh === undefined) return { until }
  if (fresh !== undefined && until === undefined) return { freshMs: fresh }
  throw new SyncError('USAGE_INVALID', 'wait needs either --until or --fresh', {
    cure: 'Add --until TIME, such as --until 2026-01-31T06:00:00Z, or --fresh AGE, such as --fresh 10m.',
  })
}
