/**
 * Staged files that nobody will use any more. Several processes share the staging directory, and one that was killed
 * leaves its files; age tells them from those that are being written or wait for their load.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { removeFolder } from '../folders.ts'
import { type Instant, toMillis } from '../instant.ts'

/** Removes what nothing was written to for so long; gives the names. Error: WAREHOUSE_MISSING where it is not this user's. */
export async function removeStaleStaging(staging: string, now: Instant, keptMs: number): Promise<string[]> {
  const removed: string[] = []
  for (const name of await namesIn(staging)) {
    const path = join(staging, name)
    if (toMillis(now) - (await lastWrittenMs(path)) < keptMs) continue
    await removeFolder(path)
    removed.push(name)
  }
  return removed
}

async function lastWrittenMs(path: string): Promise<number> {
  const inner = (await namesIn(path)).map((name) => join(path, name))
  const times = await Promise.all([path, ...inner].map(writtenMs))
  return Math.max(...times)
}

/** A file that goes away meanwhile is none of ours. */
const writtenMs = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => Infinity,
  )

const namesIn = (path: string): Promise<string[]> => readdir(path).catch(() => [])
