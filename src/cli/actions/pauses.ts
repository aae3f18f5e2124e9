/** `tidemark pause` makes all runs skip the named reports. `tidemark resume` ends these pauses. */
import { errorFrom } from '../../operations/contract.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { performFor } from '../surroundings.ts'
import type { CommandOptions } from '../voices.ts'
import { known } from '../wanted.ts'

export const pause = (shell: Shell, names: readonly string[], options: CommandOptions) =>
  changePauses(shell, names, { ...options, verb: 'pause' })

export const resume = (shell: Shell, names: readonly string[], options: CommandOptions) =>
  changePauses(shell, names, { ...options, verb: 'resume' })

async function changePauses(
  shell: Shell,
  names: readonly string[],
  { config, verb }: CommandOptions & { readonly verb: 'pause' | 'resume' },
): Promise<ExitCode> {
  const reports = [...known(names)]
  const { publishError } = await performFor(shell, { config, loudness: {} }, { do: verb, reports })
  shell.out.write(`${verb}d: ${reports.join(', ')}\n`)
  if (publishError !== undefined) throw errorFrom(publishError)
  return 0
}
