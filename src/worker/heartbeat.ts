/** The heartbeat: a file that each worker writes every few seconds. `tidemark health` reads the time in this file. */
import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, repeat } from '../clock.ts'
import { type Instant, millisBetween } from '../instant.ts'

const WRITE_EVERY_MS = 5_000
export const HEARTBEAT_AGE_MS_MAX = 30_000

/** Returns the two possible paths of the heartbeat, because some workers cannot write next to the warehouse. */
export function heartbeatPathsOf(warehouse: string): readonly [beside: string, elsewhere: string] {
  const name = createHash('sha256').update(warehouse).digest('hex').slice(0, 20)
  return [`${warehouse}.alive`, path.join(tmpdir(), `tidemark-${name}.alive`)]
}

export function startHeartbeat(warehouse: string, clock: Clock): AsyncDisposable {
  const [beside, elsewhere] = heartbeatPathsOf(warehouse)
  const write = (): void => {
    const now = String(clock.now())
    // Overwrites the old time, because a full disk may have no room for a file that was emptied first.
    void writeFile(beside, now, { flag: 'r+' })
      .catch(() => writeFile(beside, now))
      .catch(() => writeFile(elsewhere, now))
      .catch(() => undefined)
  }
  write()
  const writing = repeat(WRITE_EVERY_MS, clock, write)
  return {
    [Symbol.asyncDispose]: async () => {
      writing[Symbol.dispose]()
      for (const file of [beside, elsewhere]) await rm(file, { force: true }).catch(() => undefined)
    },
  }
}

/** Returns the age of the heartbeat. One of the future, written by a clock that was ahead, is as old as it is early. */
export async function heartbeatAgeMs(warehouse: string, clock: Clock): Promise<number | undefined> {
  const texts = await Promise.all(heartbeatPathsOf(warehouse).map((file) => readFile(file, 'utf8').catch(() => '')))
  const written = texts.filter((text) => text !== '')
  const ages = written.map((text) => Math.abs(millisBetween(Number(text) as Instant, clock.now())))
  return ages.length === 0 ? undefined : Math.min(...ages)
}
