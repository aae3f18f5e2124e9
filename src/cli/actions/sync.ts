/** `tidemark sync`: runs each report once (an incremental run), publishes, and prints a summary. */
import { print, type CommandOptions } from '../commandOutput.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { hasFailed, summaryDocument, summaryText } from '../summary.ts'
import { performFor } from '../surroundings.ts'
import { selectReports } from '../reportSelection.ts'

export async function sync(
  shell: Shell,
  names: readonly string[],
  { config, ...output }: CommandOptions,
): Promise<ExitCode> {
  const reports = [...selectReports(names, config)]
  const startedMs = shell.clock.monotonicMs()
  const answer = await performFor(shell, { config, output }, { do: 'sync', reports })
  const elapsedMs = shell.clock.monotonicMs() - startedMs
  return print(shell, output, {
    failed: hasFailed(answer),
    document: () => summaryDocument(answer, elapsedMs),
    text: () => summaryText(answer, elapsedMs),
  })
}
