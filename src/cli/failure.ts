/** Prints an error (message, code, what to do), and decides the exit code. */
import { styleText } from 'node:util'
import { asSyncError, type SyncError } from '../errors.ts'
import { createLog } from '../log.ts'
import { line } from './layout.ts'
import type { ExitCode, Shell } from './shell.ts'

export const exitCodeOf = (error: SyncError): ExitCode => (error.isUsage ? 2 : 1)

/** Prints an error to standard error; with `--json`, as a document to standard output and as a line of the log. */
export function printFailure({ out, err }: Shell, thrown: unknown, asJson: boolean): ExitCode {
  const error = asSyncError(thrown)
  if (asJson) {
    out.write(`${JSON.stringify({ error }, undefined, 2)}\n`)
    createLog({ level: 'error' }).error({ code: error.code, cure: error.cure }, error.message)
  } else err.write(failureText(error))
  return exitCodeOf(error)
}

/** With `--json`, prints a document about the stop. Otherwise prints nothing: the stop has printed its message. */
export function printStopped({ out, stop }: Shell, asJson: boolean): ExitCode {
  if (asJson) out.write(`${JSON.stringify({ error: asSyncError(stop.signal.reason) }, undefined, 2)}\n`)
  return 1
}

export function failureText({ message, code, cure }: SyncError): string {
  const style = { stream: process.stderr }
  return [
    `${styleText('red', 'error', style)}: ${message}`,
    `  ${styleText('dim', 'code', style)}        ${code}`,
    `  ${styleText('dim', 'what to do', style)}  ${line(cure)}`,
    '',
  ].join('\n')
}
