/** Stops the program. The first signal aborts all work, and the second ends the process. */
import { constants } from 'node:os'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { onAbort } from '../signals.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type StopSignal = (typeof SIGNALS)[number]

/** Signals within this time count as one. A single Ctrl-C sends two: from the terminal and from `bin/tidemark.js`. */
const SAME_PRESS_MS = 500

const STOPPING = 'tidemark: stopping; what is committed stays, the rest is undone. Again to quit at once.'

export type Stop = ReturnType<typeof catchSignals>

interface StopOptions {
  readonly clock: Clock
  readonly say: (line: string) => void
  readonly quit: (code: number) => void
}

/** Installs signal handlers. The first signal aborts all work, and a later one ends the process. */
export function catchSignals({ clock, say, quit }: StopOptions) {
  const aborting = new AbortController()
  let replacement: string | undefined
  let stop: { readonly atMs: number; readonly exitCode: number } | undefined
  let endsWell = false
  const onSignal = (name: StopSignal): void => {
    const now = clock.monotonicMs()
    if (stop !== undefined) return now - stop.atMs > SAME_PRESS_MS ? quit(stop.exitCode) : undefined
    stop = { atMs: now, exitCode: 128 + constants.signals[name] }
    const cure = replacement ?? 'Start it again; it goes on where it stopped.'
    // Aborts before the message is printed, because the abort erases the progress lines.
    aborting.abort(new SyncError('CANCELLED', 'stopped on request', { cure }))
    if (!endsWell) say(`${replacement ?? STOPPING}\n`)
  }
  const onOrphaned = () => onSignal('SIGTERM')
  for (const name of SIGNALS) process.on(name, onSignal)
  if (process.channel !== undefined) process.once('disconnect', onOrphaned)
  const { signal } = aborting
  return {
    signal,
    /** Returns 130 after Ctrl-C and 143 after SIGTERM. Undefined without a signal, and if a stop counts as success. */
    exitCode: () => (endsWell ? undefined : stop?.exitCode),
    /** Makes a stop count as success, for commands such as `worker` that run until they are stopped. */
    endsWell: () => void (endsWell = true),
    /** Replaces the message that a stop prints, until the result is disposed. */
    replaceMessage: (words: string): Disposable => {
      replacement = words
      return { [Symbol.dispose]: () => (replacement = undefined) }
    },
    requested: () => new Promise<void>((resolve) => void onAbort(signal, resolve)),
    [Symbol.dispose]: () => {
      for (const name of SIGNALS) process.off(name, onSignal)
      process.off('disconnect', onOrphaned)
    },
  }
}
