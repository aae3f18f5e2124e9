/**
 * Lets only one process use a directory: two PGlites on one directory lose jobs without an error. The lock is an
 * exclusive transaction on an empty SQLite file, which the operating system releases even after kill -9.
 */
import { accessSync, chmodSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SyncError } from '../../src/errors.ts'
import { folderRefused, ownFileRefused, makeFolder } from '../../src/folders.ts'

/** The error code of SQLite for "database is locked". */
const SQLITE_BUSY = 5

/** Takes the lock until disposal. Throws QUEUE_LOCKED, or WAREHOUSE_MISSING if the folder or file can't be opened. */
export function lockDirectory(directory: string): Disposable {
  const folder = dirname(directory)
  try {
    makeFolder(folder)
    return lockIn(directory)
  } catch (error) {
    const holder = `${directory}.holder`
    // Finds the file that can't be opened. Node's error contains its path; SQLite's does not, but means `.lock`.
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
    // SQLite also opens a file that this user may only read, but such a lock would not exclude other processes.
    accessSync(file, constants.W_OK)
    // Sets the permissions before SQLite creates its journal, because the journal inherits them.
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

/** Lets only this user read and write the file. */
function closeToOthers(file: string): void {
  try {
    chmodSync(file, 0o600)
  } catch {
    // Some file systems have no permissions. Nothing can be changed there.
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
