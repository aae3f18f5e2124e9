/** Identifies files and replaces them atomically: a power cut leaves the complete old file or the complete new file. */
import { open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { PRIVATE_FILE } from './folders.ts'

/** Returns the device and inode of a file, which are the same for all paths to it. Undefined if it is missing. */
export async function fileIdentity(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true })
    return `${dev} ${ino}`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes a file or a folder from the system's cache to the disk. Returns the size in bytes. */
export async function flush(path: string): Promise<number> {
  await using handle = await open(path, 'r')
  await handle.sync()
  return (await handle.stat()).size
}

/** Writes a temporary file and renames it, so that readers never see a partial file. */
export async function replaceFile<T>(file: string, write: (temporary: string) => Promise<T>): Promise<T> {
  const temporary = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`)
  try {
    const result = await write(temporary)
    await flush(temporary)
    await rename(temporary, file)
    await flush(dirname(file))
    return result
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Removes temporary files of killed processes. Only the writer of `file` may call this. */
export async function removeTemporaryFiles(file: string): Promise<void> {
  const folder = dirname(file)
  for (const name of await readdir(folder)) {
    if (name.startsWith(`.${basename(file)}.`) && name.endsWith('.tmp')) await rm(join(folder, name), { force: true })
  }
}

/** Replaces a file. Only this user can read the new file. */
export const replaceText = (file: string, text: string): Promise<void> =>
  replaceFile(file, (temporary) => writeFile(temporary, text, { mode: PRIVATE_FILE }))
