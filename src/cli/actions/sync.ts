/** `tidemark sync`: one incremental run of each report, then the published copy, then the summary. */
import { configOf } from '../configOf.ts'
import { print } from '../print.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { hasFailed, summaryDocument, summaryText } from '../summary.ts'
import { performFor } from '../surroundings.ts'
import type { Loudness } from '../voices.ts'
import { wantedReports } from '../wanted.ts'

export interface SyncOptions extends Loudness {
  readonly config?: string
}

export async function sync(
  shell: Shell,
  names: readonly string[],
  { config: file, ...loudness }: SyncOptions,
): Promise<ExitCode> {
  const config = await configOf(shell, file)
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
