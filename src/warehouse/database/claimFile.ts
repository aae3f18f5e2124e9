/** Prevents a second opening of a file in this process. Closing the second opening would unlock the file for both. */
import { resolve } from 'node:path'
import { fileIdentity } from '../../files.ts'
import { lockedError } from './databaseError.ts'

/** A file has no identity until it is created. */
const openFiles = new Set<{ readonly path: string; readonly isReader: boolean; identity: string | undefined }>()

/** Throws WAREHOUSE_LOCKED if this process has the file open, also under another path. */
export async function claimFile(path: string, isReader: boolean): Promise<Disposable> {
  if (path === ':memory:') return new DisposableStack()
  const file = { path: resolve(path), isReader, identity: await identityIfAny(path) }
  for (const open of openFiles) open.identity ??= await identityIfAny(open.path)
  // Does not wait from here on, so that of two openings at the same time only one claims the file.
  for (const open of openFiles) {
    const isSame = open.path === file.path || (file.identity !== undefined && open.identity === file.identity)
    if (isSame && !(open.isReader && isReader)) throw lockedError(path, 'this process, by another call')
  }
  openFiles.add(file)
  return { [Symbol.dispose]: () => void openFiles.delete(file) }
}

/** If the file cannot be examined, DuckDB's own error is better than this one. */
const identityIfAny = (path: string) => fileIdentity(path).catch(() => undefined)
