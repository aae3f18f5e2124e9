/** `tidemark wait`: waits until the published copy is complete up to a time. */
import type { Instant } from '../../instant.ts'
import { type Readiness, waitForReports, waitGoalOf } from '../../operations/waitForReports.ts'
import { print } from '../commandOutput.ts'
import { namedReports } from '../../operations/reportSelection.ts'
import type { Action, CommandOptions } from '../shell.ts'

export interface WaitOptions extends CommandOptions {
  readonly until?: Instant
  readonly fresh?: number
  readonly timeout: number
}

export const wait: Action<WaitOptions> = async (shell, options, names) => {
  const { config, until, fresh, timeout: timeoutMs } = options
  const reports = namedReports(names, (report) => config.reports[report].enabled)
  const request = { reports, goal: waitGoalOf(until, fresh), timeoutMs }
  const found = await waitForReports(config, request, { clock: shell.clock, signal: shell.stop.signal })
  const failed = found.some(({ state }) => state !== 'complete')
  const code = print(shell, options, { failed, document: { reports: found }, text: () => found.map(lineOf).join('') })
  return found.some(({ state }) => state === 'blocked') ? 3 : code
}

const lineOf = ({ report, state, mark, reason }: Readiness): string =>
  state === 'complete'
    ? `${report}: complete up to ${mark}\n`
    : `${report}: not complete: ${reason}\n${state === 'blocked' ? '  what to do: "tidemark status" names the cure\n' : ''}`
