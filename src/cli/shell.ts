/** The outputs, environment and clock of a command. `out` receives only results, so that no log ends up in a pipe. */
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Stop } from './stop.ts'

export interface Output {
  write(text: string): void
  /** Waits until the reader has received the output. Otherwise, output for a slow pipe would pile up in memory. */
  drained(): Promise<void>
  readonly isTerminal: boolean
  /** The width of the terminal in characters, or 200 if the output is not a terminal. */
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

/** 1: failure. 2: wrong configuration or usage (product contract §7). 3: `wait` found a report paused or off. */
export type ExitCode = 0 | 1 | 2 | 3

export type Done = (code: ExitCode) => void

export interface CommandOptions {
  readonly config: Config
  readonly json?: boolean
  readonly quiet?: boolean
}

/** What a command does. `given` is the value of its argument, such as the names of reports. */
export type Action<Options = CommandOptions, Given = readonly string[]> = (
  shell: Shell,
  options: Options,
  given: Given,
) => Promise<ExitCode>

const COLUMNS_ELSEWHERE = 200

export function outputOf(stream: NodeJS.WriteStream): Output {
  // A reader such as `head` can close the pipe before the end. The process then exits without an error.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit()
  })
  return {
    write: (text) => void stream.write(text),
    drained: async () => {
      if (stream.writableNeedDrain) await new Promise<void>((resolve) => void stream.once('drain', () => resolve()))
    },
    isTerminal: stream.isTTY,
    get columns() {
      return stream.isTTY ? stream.columns : COLUMNS_ELSEWHERE
    },
  }
}
