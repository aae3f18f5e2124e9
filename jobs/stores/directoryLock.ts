/**
 * One process for one directory: PGlite takes no lock, and two processes on one directory lose jobs without an error.
 * The lock is an exclusive transaction on an empty SQLite file beside the directory, so the operating system holds it:
 * it ends with its process, also after kill -9, and there is nothing stale to take over.
 */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SyncError } from '../../src/errors.ts'
import { folderRefused, makeFolder } from '../../src/folders.ts'

/** SQLite's own number for "database is locked". */
const SQLITE_BUSY = 5

/** Takes the lock or throws QUEUE_LOCKED, or WAREHOUSE_MISSING for the folder; disposing gives it back. */
export function lockDirectory(directory: string): Disposable {
  const folder = dirname(directory)
  try {
    makeFolder(folder)
    return lockIn(directory)
  } catch (error) {
    throw folderRefused(folder, error)
  }
}

function lockIn(directory: string): Disposable {
  const holder = `${directory}.holder`
  const lock = new DatabaseSync(`${directory}.lock`, { timeout: 0 })
  try {
    // Before the journal is made, which takes its rights from it.
    closeToOthers(`${directory}.lock`)
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    writeFileSync(holder, `process ${process.pid}`)
    closeToOthers(holder)
  } catch (error) {
    lock.close()
    if (!(error instanceof Error) || !('errcode' in error) || error.errcode !== SQLITE_BUSY) throw error
    throw inUse(directory, textOf(holder))
  }
  return { [Symbol.dispose]: () => lock.close() }
}

/** As the directory itself is. */
function closeToOthers(file: string): void {
  try {
    chmodSync(file, 0o600)
  } catch {
    // A file system without rights has nothing to refuse with either.
  }
}

const inUse = (directory: string, holder: string): SyncError =>
  new SyncError('QUEUE_LOCKED', `the embedded queue ${directory} is in use by ${holder}`, {
    cure: 'Let the worker that runs do the work, or end it; for several workers set queue to a Redis.',
    data: { directory },
  })

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return 'another process'
  }
}
