/** Where the program begins: the process becomes a shell, the arguments a command, and its end an exit code. */
import { systemClock } from '../clock.ts'
import { runProgram } from './program.ts'
import { outputOf, type Shell } from './shell.ts'
import { Stop } from './stop.ts'

/** What is done has ended; a connection to a server that answers no more must not keep the process. */
const LINGER_MS_MAX = 3_000

/** `args` are those after the program's own name. Never throws; the process ends by itself with its exit code. */
export async function main(args: readonly string[]): Promise<void> {
  const err = outputOf(process.stderr)
  using stop = new Stop({ clock: systemClock, say: (text) => err.write(text), quit: (code) => process.exit(code) })
  const shell: Shell = {
    out: outputOf(process.stdout),
    err,
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    stop,
    isInteractive: process.stdin.isTTY && process.stdout.isTTY,
  }
  const code = await runProgram(shell, args)
  process.exitCode = stop.exitCode ?? code
  systemClock.after(LINGER_MS_MAX, () => process.exit())
}
