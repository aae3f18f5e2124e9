/** `tidemark sync`: runs each report once (an incremental run), publishes, and prints a summary. */
import { print, type CommandOptions } from '../voices.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { hasFailed, summaryDocument, summaryText } from '../summary.ts'
import { performFor } from '../surroundings.ts'
import { wantedReports } from '../wanted.ts'

export async function sync(
  shell: Shell,
  names: readonly string[],
  { config, ...loudness }: CommandOptions,
): Promise<ExitCode> {
  const reports = [...wantedReports(names, config)]
  const startedMs = shell.clock.monotonicMs()
  const answer = await performFor(shell, { config, loudness }, { do: 'sync', reports })
  const elapsedMs = shell.clock.monotonicMs() - startedMs
  return print(shell, loudness, {
    failed: hasFailed(answer),
    document: () => summaryDocument(answer, elapsedMs),
    text: () => summaryText(answer, elapsedMs),
  })
}
