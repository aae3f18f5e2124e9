/**
 * What a test that fails, or never ends, has to tell: the condition that it still waits for, and of each process that
 * it started how it ended and what it wrote last. A hang seen once in many runs has to be understood from its log.
 */
import { onTestFailed } from 'vitest'
import type { Running } from '../cli/support.ts'

/** Enough for a start and an end; ten workers are to be read at one sitting. */
const LINES_TOLD = 30
const LINE_CHARACTERS_MAX = 300

interface Seen {
  /** What it was started with. */
  readonly words: string
  readonly running: Running
  end: string
}

export class Witness {
  readonly #seen: Seen[] = []
  #hasLeft = false

  constructor() {
    tellsWhenFailed(() => this.#seen.map(told).join('\n'))
  }

  sees(args: readonly string[], running: Running): Running {
    const one = { words: args.join(' '), running, end: 'runs' }
    this.#seen.push(one)
    void this.#awaits(one)
    return running
  }

  /** From here on it is the test that ends them. */
  leaves(): void {
    this.#hasLeft = true
  }

  async #awaits(one: Seen): Promise<void> {
    const { code, signal } = await one.running.ended
    if (!this.#hasLeft) one.end = `ended with ${signal ?? code}`
  }
}

const awaited = new Set<() => unknown>()

/** Until it is disposed, a failure tells that this was waited for. */
export function waitsFor(isSo: () => unknown): Disposable {
  awaited.add(isSo)
  return { [Symbol.dispose]: () => void awaited.delete(isSo) }
}

function told({ words, running, end }: Seen): string {
  const lines = running.said().trimEnd().split('\n').slice(-LINES_TOLD)
  return [`--- ${running.pid} ${words}: ${end}`, ...lines.map((line) => line.slice(0, LINE_CHARACTERS_MAX))].join('\n')
}

/** Outside a test, such as in beforeAll, there is none that could fail. */
function tellsWhenFailed(text: () => string): void {
  try {
    onTestFailed(({ task }) => {
      const waited = [...awaited].map((isSo) => `still waits for ${String(isSo)}\n`).join('')
      process.stderr.write(`${task.name}\n${waited}${text()}\n`)
    })
  } catch {
    // What its tests say has to do.
  }
}
