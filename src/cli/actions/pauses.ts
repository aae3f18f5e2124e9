/** `tidemark pause` makes runs skip reports, `resume` ends such a pause, and `cancel` ends a run or a backfill. */
import { errorFrom } from '../../operations/contract.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { performFor } from '../surroundings.ts'
import type { CommandOptions } from '../commandOutput.ts'
import { requireReportNames } from '../reportSelection.ts'

export const pause = (shell: Shell, names: readonly string[], options: CommandOptions) =>
  changePauses(shell, names, { ...options, verb: 'pause' })

export const resume = (shell: Shell, names: readonly string[], options: CommandOptions) =>
  changePauses(shell, names, { ...options, verb: 'resume' })

async function changePauses(
  shell: Shell,
  names: readonly string[],
  { config, verb }: CommandOptions & { readonly verb: 'pause' | 'resume' },
): Promise<ExitCode> {
  const reports = [...requireReportNames(names)]
  const { publishError } = await performFor(shell, { config, output: {} }, { do: verb, reports })
  shell.out.write(`${verb}d: ${reports.join(', ')}\n`)
  if (publishError !== undefined) throw errorFrom(publishError)
  return 0
}

export async function cancel(shell: Shell, id: string, { config }: CommandOptions): Promise<ExitCode> {
  const request = { do: 'cancel', id } as const
  const { what, isAlready = false, publishError } = await performFor(shell, { config, output: {} }, request)
  shell.out.write(`cancelled${isAlready ? ' already' : ''}: ${what}\n`)
  if (publishError !== undefined) throw errorFrom(publishError)
  return 0
}
