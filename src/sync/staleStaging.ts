/** Removes staged files that dead processes left. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { removeFolder } from '../folders.ts'
import { type Instant, toMillis } from '../instant.ts'

/** Removes files that were not modified for `keptMs`. Throws WAREHOUSE_MISSING for another user's file. */
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

/** Returns Infinity if another process has just removed the file, because the folder is then in use. */
const writtenMs = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => Infinity,
  )

const namesIn = (path: string): Promise<string[]> => readdir(path).catch(() => [])
