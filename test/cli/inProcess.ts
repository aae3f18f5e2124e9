/**
 * A command of the program in the test's own process. It parses the same arguments and prints the same texts as the
 * launcher's process, without the second that starting Node and loading the program takes. Tests about the process
 * itself (signals, locks between processes, the launcher) start a real one.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import fs from 'node:fs'
import { runProgram } from '../../src/cli/program.ts'
import type { Output, Shell } from '../../src/cli/shell.ts'
import { catchSignals } from '../../src/cli/stop.ts'
import { systemClock } from '../../src/clock.ts'
import type { Ended } from './support.ts'

const COLUMNS = 200
const STANDARD_ERROR = 2

/** What the command that this code runs for has written to standard error. */
const errors = new AsyncLocalStorage<{ text: string }>()

/** The log writes to the file descriptor itself. */
const { writeSync } = fs
fs.writeSync = ((fd: number, ...rest: [string]) => {
  const written = fd === STANDARD_ERROR ? errors.getStore() : undefined
  if (written === undefined) return writeSync(fd, ...rest)
  written.text += rest[0]
  return Buffer.byteLength(rest[0])
}) as typeof writeSync

const quit = (code: number): never => {
  throw new TypeError(`the command called process.exit(${code})`)
}

/** Runs the command in this folder with only these variables. */
export async function runHere(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const written = { text: '' }
  let stdout = ''
  const err = outputOf((text) => (written.text += text))
  using stop = catchSignals({ clock: systemClock, say: (text) => err.write(text), quit })
  const out = outputOf((text) => (stdout += text))
  const shell: Shell = { out, err, env, cwd, clock: systemClock, stop, isInteractive: false }
  const code = await errors.run(written, () => runProgram(shell, args))
  return { code, signal: null, stdout, stderr: written.text }
}

const outputOf = (write: (text: string) => void): Output => ({
  write,
  drained: () => Promise.resolve(),
  isTerminal: false,
  columns: COLUMNS,
})
