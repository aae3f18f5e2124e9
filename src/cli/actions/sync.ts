/** What `tidemark sync` does: one incremental run of each report, then the published copy, then the summary. */
import { configOf } from '../configOf.ts'
import { runSync } from '../run.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { syncInWorker } from '../control/syncInWorker.ts'
import { findWorker } from '../control/remote.ts'
import { hasFailed, summaryDocument, summaryText } from '../summary.ts'
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
  const run = { config, wanted: wantedReports(names, config), loudness }
  await using worker = await findWorker(shell, config)
  const summary = await (worker === undefined ? runSync(shell, run) : syncInWorker(shell, run, worker))
  const failed = hasFailed(summary)
  if (loudness.json === true) shell.out.write(`${JSON.stringify(summaryDocument(summary), undefined, 2)}\n`)
  else if (loudness.quiet !== true || failed) shell.out.write(summaryText(summary))
  return failed ? 1 : 0
}
