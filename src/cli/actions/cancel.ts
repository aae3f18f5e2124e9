/** `tidemark cancel`: ends a run or a backfill. */
import { errorFrom } from '../../operations/contract.ts'
import { configOf } from '../configOf.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { performFor } from '../surroundings.ts'

export interface CancelOptions {
  readonly config?: string
}

export async function cancel(shell: Shell, id: string, options: CancelOptions): Promise<ExitCode> {
  const config = await configOf(shell, options.config)
  const request = { do: 'cancel', id } as const
  const { what, isAlready = false, publishError } = await performFor(shell, { config, loudness: {} }, request)
  shell.out.write(`cancelled${isAlready ? ' already' : ''}: ${what}\n`)
  if (publishError !== undefined) throw errorFrom(publishError)
  return 0
}
