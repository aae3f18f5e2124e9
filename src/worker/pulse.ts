/**
 * A worker's sign of life: a small file, written anew every few seconds as long as the event loop turns. `tidemark health`
 * reads it, for owners, standbys and pullers alike, without asking the worker for anything. It lies beside the
 * warehouse, since a service manager may give the worker a temporary directory of its own; where there is no such
 * folder, or none that may be written, in the temporary directory.
 */
import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Clock } from '../clock.ts'
import { type Instant, latest, millisBetween } from '../instant.ts'

const BEAT_MS = 5_000
/** A load of many rows may keep the loop busy for some seconds; so long, never. */
export const SILENT_MS_MAX = 30_000

/** One file for all workers of a warehouse on this machine, in one of two places: one worker that lives is enough. */
export function pulsePathsOf(warehouse: string): readonly [beside: string, elsewhere: string] {
  const name = createHash('sha256').update(warehouse).digest('hex').slice(0, 20)
  return [`${warehouse}.alive`, path.join(tmpdir(), `tidemark-${name}.alive`)]
}

/** Beats until it is disposed; then the files go. */
export function beating(warehouse: string, clock: Clock): AsyncDisposable {
  const [beside, elsewhere] = pulsePathsOf(warehouse)
  let ended = false
  let callOff: (() => void) | undefined
  const beat = (): void => {
    if (ended) return
    const sign = String(clock.now())
    // A full disk must not end a worker that may go on when there is room again.
    void writeFile(beside, sign)
      .catch(() => writeFile(elsewhere, sign))
      .catch(() => undefined)
    callOff = clock.after(BEAT_MS, beat)
  }
  beat()
  return {
    [Symbol.asyncDispose]: async () => {
      ended = true
      callOff?.()
      for (const file of [beside, elsewhere]) await rm(file, { force: true }).catch(() => undefined)
    },
  }
}

/** Milliseconds since a worker of this warehouse last showed that it lives; undefined when none ever did. */
export async function silentMs(warehouse: string, clock: Clock): Promise<number | undefined> {
  const signs = pulsePathsOf(warehouse).map((file) => readFile(file, 'utf8').catch(() => ''))
  const beats = (await Promise.all(signs)).filter((sign) => sign !== '').map((sign) => Number(sign) as Instant)
  return beats.length === 0 ? undefined : millisBetween(latest(...beats), clock.now())
}
