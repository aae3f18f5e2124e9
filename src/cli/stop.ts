/** Stops the program. The first signal, such as SIGINT, aborts all work. The second signal ends the process at once. */
import { constants } from 'node:os'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { onAbort } from '../signals.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type StopSignal = (typeof SIGNALS)[number]

/** Ctrl-C sends a signal from the terminal and another one from `bin/tidemark.js`. The later one is ignored. */
const SAME_PRESS_MS = 500

const STOPPING = 'tidemark: stopping; what is committed stays, the rest is undone. Again to quit at once.'

export interface StopOptions {
  readonly clock: Clock
  readonly say: (line: string) => void
  readonly quit: (code: number) => void
}

export class Stop implements Disposable {
  readonly #aborting = new AbortController()
  readonly #parts: StopOptions
  #replacement: string | undefined
  #stoppedMs: number | undefined
  #exitCode: number | undefined
  #endsWell = false

  constructor(parts: StopOptions) {
    this.#parts = parts
    for (const name of SIGNALS) process.on(name, this.#onSignal)
    if (process.channel === undefined) return
    process.once('disconnect', this.#onOrphaned)
    // The channel to the parent process must not keep this process alive.
    process.channel?.unref()
  }

  get signal(): AbortSignal {
    return this.#aborting.signal
  }

  /** Returns 130 after Ctrl-C and 143 after SIGTERM. */
  get exitCode(): number | undefined {
    return this.#endsWell ? undefined : this.#exitCode
  }

  /** After this call, a stop counts as success. Used by commands that run until they are stopped, such as `worker`. */
  endsWell(): void {
    this.#endsWell = true
  }

  /** Replaces the message of a stop until the result is disposed. Used while a worker executes the operation. */
  replaceMessage(words: string): Disposable {
    this.#replacement = words
    return { [Symbol.dispose]: () => (this.#replacement = undefined) }
  }

  requested(): Promise<void> {
    return new Promise((resolve) => void onAbort(this.signal, resolve))
  }

  [Symbol.dispose](): void {
    for (const name of SIGNALS) process.off(name, this.#onSignal)
    process.off('disconnect', this.#onOrphaned)
  }

  readonly #onSignal = (name: StopSignal): void => {
    const { clock, quit } = this.#parts
    const now = clock.monotonicMs()
    if (this.#stoppedMs === undefined) {
      this.#stoppedMs = now
      this.#begin(name)
    } else if (now - this.#stoppedMs > SAME_PRESS_MS) quit(this.#exitCode ?? 1)
  }

  readonly #onOrphaned = (): void => this.#onSignal('SIGTERM')

  #begin(name: StopSignal): void {
    this.#exitCode = 128 + constants.signals[name]
    const replacement = this.#replacement
    const cure = replacement ?? 'Start it again; it goes on where it stopped.'
    // Aborts before it prints the message, because the abort erases the progress lines.
    this.#aborting.abort(new SyncError('CANCELLED', 'stopped on request', { cure }))
    if (!this.#endsWell) this.#parts.say(`${replacement ?? STOPPING}\n`)
  }
}
