/** Searches all files of a folder for a text, as bytes. */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** Returns the files below the folder that contain one of the texts. */
export async function filesWith(folder: string, texts: readonly string[]): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const found: string[] = []
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    // A staged file may be removed during the search.
    const bytes = await readFile(file).catch(() => Buffer.alloc(0))
    if (texts.some((text) => bytes.includes(text))) found.push(file)
  }
  return found
}
