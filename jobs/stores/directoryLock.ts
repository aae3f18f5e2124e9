/**
 * One process for one directory: PGlite takes no lock, and two processes on one directory lose jobs without an error.
 * The lock is an exclusive transaction on an empty SQLite file beside the directory, so the operating system holds it:
 * it ends with its process, also after kill -9, and there is nothing stale to take over.
 */
import { accessSync, chmodSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SyncError } from '../../src/errors.ts'
import { folderRefused, ownFileRefused, makeFolder } from '../../src/folders.ts'

/** SQLite's own number for "database is locked". */
const SQLITE_BUSY = 5

/** Takes the lock or throws QUEUE_LOCKED, or WAREHOUSE_MISSING for the folder and for its own files in it; disposing gives it back. */
export function lockDirectory(directory: string): Disposable {
  const folder = dirname(directory)
  try {
    makeFolder(folder)
    return lockIn(directory)
  } catch (error) {
    const holder = `${directory}.holder`
    // Node names the file that it could not open; SQLite, which has the lock alone, names none.
    const own = (error as NodeJS.ErrnoException).path === holder ? holder : `${directory}.lock`
    throw existsSync(own) && mayWrite(folder) ? ownFileRefused(own, error) : folderRefused(folder, error)
  }
}

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function lockIn(directory: string): Disposable {
  const holder = `${directory}.holder`
  const file = `${directory}.lock`
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    // SQLite opens a file that it may only read all the same, and its lock then keeps nobody out.
    accessSync(file, constants.W_OK)
    // Before the journal is made, which takes its rights from it.
    closeToOthers(file)
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
