/** Prevents a second opening of a file in this process. Closing the second opening would unlock the file for both. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { attempt } from '../../errors.ts'
import { lockedError } from './databaseError.ts'

interface ClaimedFile {
  readonly path: string
  readonly isReader: boolean
}

/** The open files with their device and inode, which are undefined until the file exists. */
const openFiles = new Map<ClaimedFile, string | undefined>()

/** Throws WAREHOUSE_LOCKED if this process has the file open, also under another path. */
export function claimFile({ path, isReader }: ClaimedFile): Disposable {
  if (path === ':memory:') return new DisposableStack()
  for (const [open, inode = inodeOf(open.path)] of openFiles) openFiles.set(open, inode)
  const file = { path: resolve(path), isReader }
  const own = inodeOf(path)
  const isTaken = [...openFiles].some(
    ([open, inode]) => (open.path === file.path || (inode ?? '') === own) && !(open.isReader && isReader),
  )
  if (isTaken) throw lockedError(path, 'this process, by another call')
  openFiles.set(file, own)
  return { [Symbol.dispose]: () => void openFiles.delete(file) }
}

const inodeOf = (path: string): string | undefined =>
  attempt(() => {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev} ${ino}`
  }, undefined)
