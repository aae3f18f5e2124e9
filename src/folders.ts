/** Folders that the configuration names and that can't be used: a mistake on this machine, told in words, no defect. */
import { SyncError } from './errors.ts'

/** No right to it, a file system that is read-only, a file where a folder should be, a way that leads nowhere. */
const MISTAKES = new Set(['EACCES', 'EPERM', 'EROFS', 'EEXIST', 'ENOTDIR', 'ENOENT', 'ELOOP', 'ENAMETOOLONG'])
/** SQLite's own numbers for "attempt to write a readonly database" and "unable to open database file". */
const SQLITE_MISTAKES = new Set([8, 14])

/** What making or writing `folder` met, as WAREHOUSE_MISSING; whatever is no such mistake stays what it is. */
export function folderRefused(folder: string, thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !isMistake(thrown)) return thrown
  // Behind the comma Node names the call and the path again.
  const reason = thrown.message.split(', ')[0] ?? ''
  return new SyncError('WAREHOUSE_MISSING', `${folder} cannot be made or written: ${reason}`, {
    cure: 'See that it is a folder and that this user may write it, or name another path in the configuration.',
    data: { path: folder },
    cause: thrown,
  })
}

function isMistake({ code, errcode }: Error & { readonly code?: string; readonly errcode?: number }): boolean {
  // The lowest byte is the error; those above say more of it.
  return MISTAKES.has(code ?? '') || (errcode !== undefined && SQLITE_MISTAKES.has(errcode % 256))
}
