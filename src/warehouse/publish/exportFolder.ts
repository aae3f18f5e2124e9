/** An export writes only to an empty folder or to the folder of an earlier export. */
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { asSyncError, SyncError } from '../../errors.ts'
import { removeTemporaryFiles } from '../../files.ts'
import { makeFolder } from '../../folders.ts'
import { MANIFEST } from './exportManifest.ts'

const MARKER = '.tidemark-export'
const LOCK = '.tidemark-export.lock'
export const SPILL_FOLDER = '.tidemark-export.spill'
const MARKER_TEXT = `This folder is written by "tidemark export". ${MANIFEST} names the files that belong together; other files come and go.\n`

/** Creates the folder and locks it until disposal. Throws EXPORT_REFUSED if it is locked or has other files. */
export async function claimFolder(to: string): Promise<AsyncDisposable> {
  makeFolder(to)
  await checkOwn(to)
  await writeFile(join(to, MARKER), MARKER_TEXT)
  return takeLock(to)
}

async function checkOwn(to: string): Promise<void> {
  const entries = await readdir(to)
  const known = entries.length === 0 || entries.includes(MARKER) || entries.every((entry) => entry.startsWith(LOCK))
  if (known) return
  throw new SyncError('EXPORT_REFUSED', `${to} holds other files: an export needs an empty folder or its own`, {
    cure: 'Name an empty folder, or one that "tidemark export" has written. Nothing in this one was changed.',
    data: { path: to },
  })
}

/** The lock is a link to a complete file, so that no process ever reads a partial lock. */
async function takeLock(to: string): Promise<AsyncDisposable> {
  const lock = join(to, LOCK)
  const own = `${lock}.${process.pid}`
  try {
    await writeFile(own, JSON.stringify({ pid: process.pid, host: hostname() }))
    await link(own, lock).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
      await removeStale(lock, to)
      await link(own, lock)
    })
  } finally {
    await rm(own, { force: true })
  }
  return { [Symbol.asyncDispose]: () => rm(lock, { force: true }) }
}

async function removeStale(lock: string, to: string): Promise<void> {
  const holder = JSON.parse(await readFile(lock, 'utf8')) as { pid: number; host: string }
  if (holder.host === hostname() && !isAlive(holder.pid)) return rm(lock, { force: true })
  throw new SyncError('EXPORT_REFUSED', `another export writes ${to} (process ${holder.pid} on ${holder.host})`, {
    cure: `Wait until it has ended, or export to another folder. If it is known to be dead, remove ${lock}.`,
    data: { path: to, ...holder },
  })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export async function removeStrays(to: string, kept: readonly string[]): Promise<void> {
  await rm(join(to, SPILL_FOLDER), { recursive: true, force: true })
  await removeTemporaryFiles(join(to, MANIFEST))
  const keptFiles = new Set(kept.map((file) => join(to, file)))
  for (const entry of await readdir(to, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && path.endsWith('.parquet') && !keptFiles.has(path)) await rm(path, { force: true })
  }
}

export function exportFailed(to: string, thrown: unknown): SyncError {
  const known = asSyncError(thrown)
  const isFull = known.code === 'DISK_FULL' || /ENOSPC/.test(known.message)
  if (!isFull && known.code !== 'UNEXPECTED' && known.code !== 'WAREHOUSE_MISSING') return known
  const what = isFull ? `no space is left for the export to ${to}` : `the export to ${to} failed: ${known.message}`
  const cure = isFull ? 'Free some space and run it again' : 'Check that the folder is writable'
  return new SyncError(isFull ? 'DISK_FULL' : 'EXPORT_FAILED', what, {
    cure: `${cure}; the last export stays readable.`,
    data: { path: to },
    cause: thrown,
  })
}
