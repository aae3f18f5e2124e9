/** The outputs, environment and clock of a command. `out` receives only results. */
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { SyncError } from '../errors.ts'
import type { Stop } from './stop.ts'

export interface Output {
  write(text: string): void
  /** Waits for a slow reader, whose output would use up memory. Throws DISK_FULL if output could not be written. */
  drained(): Promise<void>
  readonly isTerminal: boolean
  readonly columns: number
}

export interface Shell {
  readonly out: Output
  readonly err: Output
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly clock: Clock
  readonly stop: Stop
  readonly isInteractive: boolean
}

/** The exit code. 1: failure. 2: wrong configuration or usage. 3: `wait` found a report paused or off. */
export type ExitCode = 0 | 1 | 2 | 3

export type Done = (code: ExitCode) => void

export interface CommandOptions {
  readonly config: Config
  readonly json?: boolean
  readonly quiet?: boolean
}

/** Runs a command. `given` contains the command's arguments, such as the names of reports. */
export type Action<Options = CommandOptions, Given = readonly string[]> = (
  shell: Shell,
  options: Options,
  given: Given,
) => Promise<ExitCode>

const COLUMNS_ELSEWHERE = 200

export function outputOf(stream: NodeJS.WriteStream): Output {
  let failure: NodeJS.ErrnoException | undefined
  const keepFailure = (error: NodeJS.ErrnoException | null | undefined) => {
    // Ends without a message when a reader such as `head` closes the pipe early. Work does not end without its progress.
    if (error?.code === 'EPIPE' && stream !== process.stderr) process.exit()
    failure ??= error ?? undefined
  }
  stream.on('error', keepFailure)
  return {
    write: (text) => void stream.write(text),
    drained: async () => {
      keepFailure(await new Promise<Error | null | undefined>((resolve) => void stream.write('', resolve)))
      if (failure === undefined) return
      const cure = 'Make space, or send the output elsewhere. Then run the command again.'
      throw new SyncError('DISK_FULL', `the output could not be written: ${failure.message}`, { cure, cause: failure })
    },
    isTerminal: stream.isTTY,
    get columns() {
      return stream.isTTY ? stream.columns : COLUMNS_ELSEWHERE
    },
  }
}
