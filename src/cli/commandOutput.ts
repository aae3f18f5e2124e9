/** Writes a command's log and progress to standard error, and its result to standard output. */
import type { Config } from '../config/config.ts'
import { createLog, type GuardedLog, type LogOptions } from '../log.ts'
import { lineProgress, LiveProgress, loggedProgress, type ProgressView, silentProgress } from './progress.ts'
import type { Shell, ExitCode } from './shell.ts'
import { logLevelOf } from '../wiring/workLog.ts'

export interface CommandOptions extends OutputOptions {
  readonly config: Config
}

export interface OutputOptions {
  readonly json?: boolean
  readonly quiet?: boolean
}

export interface Outputs {
  readonly log: GuardedLog
  readonly view: ProgressView
}

type Keep = LogOptions['keep']

/** Opens the log and the progress view. `keep` receives every log line, even if the line is not printed. */
export function openOutputs(
  { err, clock, env }: Shell,
  { json = false, quiet = false }: OutputOptions,
  keep?: Keep,
): Outputs {
  if (json) {
    const log = createLog({ level: logLevelOf(env, quiet ? 'error' : 'info'), keep })
    return { log, view: loggedProgress(log, clock) }
  }
  if (quiet) return { log: createLog({ level: logLevelOf(env, 'error'), keep }), view: silentProgress }
  if (!err.isTerminal) return { log: createLog({ level: logLevelOf(env, 'warn'), keep }), view: lineProgress(err) }
  const view = new LiveProgress(err, clock)
  return { log: createLog({ level: logLevelOf(env, 'warn'), keep, pretty: true, destination: view }), view }
}

interface CommandResult {
  readonly failed: boolean
  readonly document: () => object
  readonly text: () => string
}

/** Prints the document if `--json` is given, else the text. With `--quiet`, prints the text only after a failure. */
export function print({ out }: Shell, output: OutputOptions, { failed, document, text }: CommandResult): ExitCode {
  if (output.json === true) printDocument({ out }, document())
  else if (output.quiet !== true || failed) out.write(text())
  return failed ? 1 : 0
}

export const printDocument = ({ out }: Pick<Shell, 'out'>, document: object): void =>
  out.write(`${JSON.stringify(document, undefined, 2)}\n`)
