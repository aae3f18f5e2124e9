/** The program's entry: creates the shell from the process, runs the command, and sets the exit code. */
import { systemClock } from '../clock.ts'
import { runProgram } from './program.ts'
import { outputOf, type Shell } from './shell.ts'
import { catchSignals } from './stop.ts'

const LINGER_MS_MAX = 3_000

export async function main(args: readonly string[]): Promise<void> {
  // Lets the process end although its channel to the parent process is open.
  process.channel?.unref()
  const err = outputOf(process.stderr)
  using stop = catchSignals({ clock: systemClock, say: (text) => err.write(text), quit: (code) => process.exit(code) })
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
  process.exitCode = stop.exitCode() ?? code
  systemClock.after(LINGER_MS_MAX, () => process.exit())
}
