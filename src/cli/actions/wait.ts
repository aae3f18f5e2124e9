/** `tidemark wait`: waits until the published copy is complete up to a time, for jobs that then read the copy. */
import { reportNames } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { type Readiness, waitForReports, waitGoalOf } from '../../operations/waitForReports.ts'
import { type CommandOptions, print } from '../commandOutput.ts'
import { requireReportNames } from '../reportSelection.ts'
import type { ExitCode, Shell } from '../shell.ts'

export interface WaitOptions extends CommandOptions {
  readonly until?: Instant
  readonly fresh?: number
  readonly timeout: number
}

export async function wait(shell: Shell, names: readonly string[], options: WaitOptions): Promise<ExitCode> {
  const { config, until, fresh, timeout: timeoutMs } = options
  const named = requireReportNames(names)
  const reports = reportNames.filter((name) =>
    named.length === 0 ? config.reports[name].enabled : named.includes(name),
  )
  const request = { reports, goal: waitGoalOf(until, fresh), timeoutMs }
  const found = await waitForReports(config, request, { clock: shell.clock, signal: shell.stop.signal })
  const failed = found.some(({ state }) => state !== 'complete')
  print(shell, options, { failed, document: () => ({ reports: found }), text: () => found.map(lineOf).join('') })
  return found.some(({ state }) => state === 'blocked') ? 3 : failed ? 1 : 0
}

const lineOf = ({ report, state, mark, reason }: Readiness): string =>
  state === 'complete'
    ? `${report}: complete up to ${mark}\n`
    : `${report}: not complete: ${reason}\n${state === 'blocked' ? '  what to do: "tidemark status" names the cure\n' : ''}`
