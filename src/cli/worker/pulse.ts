/**
 * A worker's sign of life: a small file in the temporary directory, written anew every few seconds as long as the event
 * loop turns. `tidemark health` reads it, for owners, standbys and pullers alike, without asking the worker for
 * anything.
 */
import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Clock } from '../../clock.ts'
import { type Instant, MICROS_PER_SECOND } from '../../instant.ts'

const BEAT_MS = 5_000
/** A load of many rows may keep the loop busy for some seconds; so long, never. */
export const SILENT_MS_MAX = 30_000

/** One file for all workers of a warehouse on this machine: one that lives is enough. */
export function pulsePathOf(warehouse: string): string {
  const name = createHash('sha256').update(warehouse).digest('hex').slice(0, 20)
  return path.join(tmpdir(), `tidemark-${name}.alive`)
}

/** Beats until it is disposed; then the file goes. */
export function beating(warehouse: string, clock: Clock): AsyncDisposable {
  const file = pulsePathOf(warehouse)
  let ended = false
  let callOff: (() => void) | undefined
  const beat = (): void => {
    if (ended) return
    // A full disk must not end a worker that may go on when there is room again.
    void writeFile(file, String(clock.now()), { mode: 0o600 }).catch(() => undefined)
    callOff = clock.after(BEAT_MS, beat)
  }
  beat()
  return {
    [Symbol.asyncDispose]: async () => {
      ended = true
      callOff?.()
      await rm(file, { force: true })
    },
  }
}

/** Milliseconds since a worker of this warehouse last showed that it lives; undefined when none ever did. */
export async function silentMs(warehouse: string, clock: Clock): Promise<number | undefined> {
  const text = await readFile(pulsePathOf(warehouse), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  return (clock.now() - (Number(text) as Instant)) / (MICROS_PER_SECOND / 1_000)
}
