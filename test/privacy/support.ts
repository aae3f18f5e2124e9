/**
 * Looks for a text in everything that lies in a folder, as bytes: what is written compressed is looked for in tables.
 */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** Files below the folder that hold one of the texts. */
export async function filesWith(folder: string, texts: readonly string[]): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const found: string[] = []
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    // A staged file may go while it is looked for.
    const bytes = await readFile(file).catch(() => Buffer.alloc(0))
    if (texts.some((text) => bytes.includes(text))) found.push(file)
  }
  return found
}
