/** Prevents this process from opening a file twice, because closing one of the two would unlock both. */
import { resolve } from 'node:path'
import { fileIdentity } from '../../files.ts'
import { lockedError } from './databaseError.ts'

/** `identity` is undefined while the file does not exist. */
const openFiles = new Set<{ readonly path: string; readonly isReader: boolean; identity: string | undefined }>()

/** Throws WAREHOUSE_LOCKED if this process has the file open, also under another path. */
export async function claimFile(path: string, isReader: boolean): Promise<Disposable> {
  if (path === ':memory:') return new DisposableStack()
  const file = { path: resolve(path), isReader, identity: await identityIfAny(path) }
  for (const open of openFiles) open.identity ??= await identityIfAny(open.path)
  // Without an `await` from here on, only one of two simultaneous calls can claim the file.
  for (const open of openFiles) {
    const isSame = open.path === file.path || (file.identity !== undefined && open.identity === file.identity)
    if (isSame && !(open.isReader && isReader)) throw lockedError(path, 'this process, by another call')
  }
  openFiles.add(file)
  return { [Symbol.dispose]: () => void openFiles.delete(file) }
}

/** Ignores errors, because opening the file throws DuckDB's error next, which is clearer. */
const identityIfAny = (path: string) => fileIdentity(path).catch(() => undefined)
