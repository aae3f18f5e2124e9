/**
 * Where the owner of a warehouse listens: a socket beside the file, or, where that path is too long, in the temporary
 * directory.
 */
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** What the operating systems' addresses hold, with a byte for the end: 104 on macOS, 108 on Linux. */
const PATH_BYTES_MAX = 103

export function socketPathOf(warehouse: string): string {
  const beside = `${warehouse}.sock`
  if (Buffer.byteLength(beside) <= PATH_BYTES_MAX) return beside
  const name = createHash('sha256').update(warehouse).digest('hex').slice(0, 20)
  return path.join(tmpdir(), `tidemark-${name}.sock`)
}
