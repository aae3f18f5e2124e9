/** Folders that the configuration names and that can't be used: a mistake on this machine, told in words, no defect. */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SyncError } from './errors.ts'

/** No right to it, a file system that is read-only, a file where a folder should be, a way that leads nowhere. */
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
/** SQLite's own numbers for "attempt to write a readonly database" and "unable to open database file". */
const SQLITE_MISTAKES = new Set([8, 14])

/**
 * Makes the folder and those above it. Node's own way does not end where a file system takes nothing new (/proc): it
 * makes the folder above, which is there, and tries again for ever.
 */
export function makeFolder(folder: string): void {
  if (isFolder(folder)) return
  const above = dirname(folder)
  if (above !== folder && !existsSync(above)) makeFolder(above)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(folder)) throw error
  }
}

export const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/**
 * Whether there is something at the path. Error: WAREHOUSE_MISSING where this user may not look: to take that for
 * "there is none" would send people off to make another one.
 */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (!(error instanceof Error) || !isMistake(error)) throw error
    throw new SyncError('WAREHOUSE_MISSING', `${path} cannot be reached: ${reasonOf(error)}`, {
      cure: 'See that this user may enter its folder and those above it, or run this as the user that it belongs to.',
      data: { path },
      cause: error,
    })
  }
}

/** What making or writing `folder` met, as WAREHOUSE_MISSING; whatever is no such mistake stays what it is. */
export function folderRefused(folder: string, thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !isMistake(thrown)) return thrown
  return new SyncError('WAREHOUSE_MISSING', `${folder} cannot be made or written: ${reasonOf(thrown)}`, {
    cure: 'See that it is a folder and that this user may write it, or name another path in the configuration.',
    data: { path: folder },
    cause: thrown,
  })
}

/** The same of a file or folder of Tidemark's own, where the folder around it may be written: mostly it is another user's. */
export function leftRefused(path: string, thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !isMistake(thrown)) return thrown
  return new SyncError('WAREHOUSE_MISSING', `${path} cannot be opened or written: ${reasonOf(thrown)}`, {
    cure: 'See whose it is: a process of another user, perhaps root, made it. Once that has ended give it to this user, or remove it.',
    data: { path },
    cause: thrown,
  })
}

/** Error: WAREHOUSE_MISSING where it is not this user's, as after a command that root ran and that was killed. */
export async function removeFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch (error) {
    if (!(error instanceof Error) || !isMistake(error)) throw error
    throw new SyncError('WAREHOUSE_MISSING', `${folder} is left over and cannot be removed: ${reasonOf(error)}`, {
      cure: 'See whose it is: a process of another user, perhaps root, left it. Give it to this user, or remove it.',
      data: { path: folder },
      cause: error,
    })
  }
}

/** Behind the comma Node names the call and the path again. */
const reasonOf = ({ message }: Error): string => message.split(', ')[0] ?? ''

function isMistake({ code, errcode }: Error & { readonly code?: string; readonly errcode?: number }): boolean {
  // The lowest byte is the error; those above say more of it.
  return MISTAKES.has(code ?? '') || (errcode !== undefined && SQLITE_MISTAKES.has(errcode % 256))
}
