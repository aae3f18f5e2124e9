/** What `tidemark query` does: one reading statement on the published copy, printed as asked. */
import { configOf } from '../configOf.ts'
import { openPublished } from '../published.ts'
import { type Format, printerOf, printResult } from '../results.ts'
import type { ExitCode, Shell } from '../shell.ts'

export interface QueryOptions {
  readonly config?: string
  readonly format: Format
  readonly limit: number
}

export async function query(
  shell: Shell,
  sql: string,
  { config: file, format, limit }: QueryOptions,
): Promise<ExitCode> {
  const { out, stop } = shell
  await using copy = await openPublished(await configOf(shell, file))
  const interrupt = () => copy.interrupt()
  stop.signal.addEventListener('abort', interrupt)
  await printResult(copy, sql, printerOf(format, out, limit))
  stop.signal.removeEventListener('abort', interrupt)
  return 0
}
