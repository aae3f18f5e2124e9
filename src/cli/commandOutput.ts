/** Writes a command's log and progress to standard error, and its result to standard output. */
import { createLog, type LogOptions } from '../log.ts'
import { logLevelOf } from '../wiring/workLog.ts'
import { widthOf } from './layout.ts'
import { lineProgress, liveProgress, loggedProgress, silentProgress } from './progress.ts'
import type { CommandOptions, ExitCode, Shell } from './shell.ts'

type OutputOptions = Pick<CommandOptions, 'json' | 'quiet'>

/** Opens the log and the progress view. `keep` receives every log line, even if the line is not printed. */
export function openOutputs(
  { err, clock, env }: Shell,
  { json = false, quiet = false }: OutputOptions,
  keep?: LogOptions['keep'],
) {
  const level = logLevelOf(env, quiet ? 'error' : json ? 'info' : 'warn')
  if (json) return { log: createLog({ level, keep }), view: loggedProgress(createLog({ level }), clock) }
  if (quiet) return { log: createLog({ level, keep }), view: silentProgress }
  if (!err.isTerminal) return { log: createLog({ level, keep }), view: lineProgress(err) }
  const view = liveProgress(err, clock)
  return { log: createLog({ level, keep, pretty: true, destination: view }), view }
}

export interface CommandResult {
  readonly failed?: boolean
  readonly document: object
  readonly text: (width: number) => string
}

export function print({ out }: Shell, { json, quiet }: OutputOptions, result: CommandResult): ExitCode {
  const { failed = false, document, text } = result
  if (json === true) out.write(`${JSON.stringify(document, undefined, 2)}\n`)
  else if (quiet !== true || failed) out.write(text(widthOf(out)))
  return failed ? 1 : 0
}
