/**
 * What a command has around it: the two outputs, the environment, the clock and the wish to stop. Results go to `out`,
 * everything that speaks about the work to `err`, so that a pipe gets results alone.
 */
import type { Clock } from '../clock.ts'
import type { Stop } from './stop.ts'

export interface Output {
  write(text: string): void
  /** Resolves when what was written has been taken, so that a slow reader slows the writer and not its memory. */
  drained(): Promise<void>
  readonly isTerminal: boolean
  /** Characters in a line; a wide page where nobody looks. */
  readonly columns: number
}

export interface Shell {
  readonly out: Output
  readonly err: Output
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly clock: Clock
  readonly stop: Stop
  /** Somebody sits at a terminal and can be asked. */
  readonly isInteractive: boolean
}

/** 0 all done, 1 something failed, 2 configuration or usage (product contract §7). */
export type ExitCode = 0 | 1 | 2

/** Takes a command's exit code when it has ended. */
export type Done = (code: ExitCode) => void

const COLUMNS_ELSEWHERE = 200

export function outputOf(stream: NodeJS.WriteStream): Output {
  // A reader that has seen enough (head, less) closes the pipe: what is left to print has nobody to read it.
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
