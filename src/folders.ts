/** Creates and removes folders. Errors that an operator can resolve become WAREHOUSE_MISSING with advice in `cure`. */
import { chmodSync, existsSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { attempt, SyncError } from './errors.ts'

/** Errors that an operator can resolve. */
const MISTAKES = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'EEXIST',
  'EISDIR',
  'ERR_FS_EISDIR',
  'ENOTDIR',
  'ENOENT',
  'ELOOP',
  'ENAMETOOLONG',
])
/** SQLite's codes for "attempt to write a readonly database" and "unable to open database file". */
const SQLITE_MISTAKES = new Set([8, 14])

/** Creates the folder and its parents. Node's option `recursive` hangs under /proc. */
export function makeFolder(folder: string, mode?: number): void {
  if (isFolder(folder)) return
  const above = dirname(folder)
  if (above !== folder && !existsSync(above)) makeFolder(above)
  try {
    mkdirSync(folder, mode)
  } catch (error) {
    if (!isFolder(folder)) throw error
  }
}

export const PRIVATE_FOLDER = 0o700
export const PRIVATE_FILE = 0o600

/** Creates a folder that only this user can enter. Makes an existing folder private, but not another user's. */
export function makePrivateFolder(folder: string): void {
  try {
    makeFolder(folder, PRIVATE_FOLDER)
    if (!isPrivateFolder(folder)) chmodSync(folder, PRIVATE_FOLDER)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw folderRefused(folder, error)
  }
}

const OTHER_USERS_BITS = 0o077

/** Returns whether only this user can enter the folder. For root, its owner may also own the parent folder. */
export function isPrivateFolder(folder: string): boolean {
  const found = attempt(() => lstatSync(folder, { throwIfNoEntry: false }), undefined)
  if (found === undefined || !found.isDirectory() || (found.mode & OTHER_USERS_BITS) !== 0) return false
  // Windows has no `getuid`, so the owner is not compared there.
  const user = process.getuid?.() ?? found.uid
  return found.uid === user || (user === 0 && found.uid === statSync(dirname(folder)).uid)
}

export const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** Returns whether the path exists. Throws WAREHOUSE_MISSING if permissions prevent checking it. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    throw asMistake(path, error, {
      problem: 'cannot be reached',
      cure: 'Allow this user to enter its folder and the folders above it, or run this as the user that owns it.',
    })
  }
}

/** Converts errors about permissions and paths to WAREHOUSE_MISSING. Returns other errors unchanged. */
export const folderRefused = (folder: string, thrown: unknown): unknown =>
  asMistake(folder, thrown, {
    problem: 'cannot be made or written',
    cure: 'Make it a folder that this user may write, or name another path in the configuration.',
  })

export const ownFileRefused = (path: string, thrown: unknown): unknown =>
  asMistake(path, thrown, {
    problem: 'cannot be opened or written',
    cure: 'Find its owner: a process of another user, perhaps root, created it. After that process has ended, change the owner to this user, or remove it.',
  })

/** Removes a folder and its content. Throws WAREHOUSE_MISSING if the folder belongs to another user. */
export async function removeFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch (error) {
    throw asMistake(folder, error, {
      problem: 'is left over and cannot be removed',
      cure: 'Find its owner: a process of another user, perhaps root, left it there. Change the owner to this user, or remove it.',
    })
  }
}

/** Removes folders of killed processes: paths with this prefix that are older than `beforeMs`. */
export async function removeLeftovers(prefix: string, beforeMs: number, own?: string): Promise<void> {
  for (const name of await readdir(dirname(prefix))) {
    const path = join(dirname(prefix), name)
    if (!path.startsWith(prefix) || path === own) continue
    const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs < beforeMs) await removeFolder(path)
  }
}

function asMistake(path: string, thrown: unknown, words: { readonly problem: string; readonly cure: string }): unknown {
  if (!(thrown instanceof Error) || !isMistake(thrown)) return thrown
  // Node's message repeats the call and the path after the comma.
  const reason = thrown.message.split(', ')[0] ?? ''
  const message = `${path} ${words.problem}: ${reason}`
  return new SyncError('WAREHOUSE_MISSING', message, { cure: words.cure, data: { path }, cause: thrown })
}

function isMistake({ code, errcode }: Error & { readonly code?: string; readonly errcode?: number }): boolean {
  // The lowest byte of SQLite's error code is the kind of error.
  return MISTAKES.has(code ?? '') || (errcode !== undefined && SQLITE_MISTAKES.has(errcode % 256))
}
