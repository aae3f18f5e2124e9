/**
 * The process as a command sees it: two outputs, the environment, the clock and the stop. Results are written to `out`,
 * log and progress to `err`, so that a pipe receives only results.
 */
import type { Clock } from '../clock.ts'
import type { Stop } from './stop.ts'

export interface Output {
  write(text: string): void
  /** Resolves when the reader has taken everything, so that a slow reader slows the writer instead of filling memory. */
  drained(): Promise<void>
  readonly isTerminal: boolean
  /** Characters in a line of the terminal; 200 when the output is no terminal. */
  readonly columns: number
}

export interface Shell {
  readonly out: Output
  readonly err: Output
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly clock: Clock
  readonly stop: Stop
  /** Whether both input and output are a terminal, so that questions can be asked. */
  readonly isInteractive: boolean
}

/** 0 all done, 1 something failed, 2 configuration or usage (product contract §7). */
export type ExitCode = 0 | 1 | 2

/** Takes a command's exit code when it has ended. */
export type Done = (code: ExitCode) => void

const COLUMNS_ELSEWHERE = 200

export function outputOf(stream: NodeJS.WriteStream): Output {
  // A reader such as head or less closes the pipe when it has read enough: the rest need not be printed.
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
