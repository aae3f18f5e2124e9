/** Prevents a second opening of a file in this process. Closing the second opening would unlock the file for both. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { attempt } from '../../errors.ts'
import { lockedError } from './databaseError.ts'

/** A file has no inode until it is created. */
const openFiles = new Set<{ readonly path: string; readonly isReader: boolean; inode: string | undefined }>()

/** Throws WAREHOUSE_LOCKED if this process has the file open, also under another path. */
export function claimFile(path: string, isReader: boolean): Disposable {
  if (path === ':memory:') return new DisposableStack()
  const file = { path: resolve(path), isReader, inode: inodeOf(path) }
  for (const open of openFiles) {
    open.inode ??= inodeOf(open.path)
    const isSame = open.path === file.path || (file.inode !== undefined && open.inode === file.inode)
    if (isSame && !(open.isReader && isReader)) throw lockedError(path, 'this process, by another call')
  }
  openFiles.add(file)
  return { [Symbol.dispose]: () => void openFiles.delete(file) }
}

const inodeOf = (path: string): string | undefined =>
  attempt(() => {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev} ${ino}`
  }, undefined)
