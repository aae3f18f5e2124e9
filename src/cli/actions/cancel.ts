/** `tidemark cancel`: ends a run or a backfill. */
import { errorFrom } from '../../operations/contract.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { performFor } from '../surroundings.ts'
import type { CommandOptions } from '../voices.ts'

export async function cancel(shell: Shell, id: string, { config }: CommandOptions): Promise<ExitCode> {
  const request = { do: 'cancel', id } as const
  const { what, isAlready = false, publishError } = await performFor(shell, { config, loudness: {} }, request)
  shell.out.write(`cancelled${isAlready ? ' already' : ''}: ${what}\n`)
  if (publishError !== undefined) throw errorFrom(publishError)
  return 0
}
