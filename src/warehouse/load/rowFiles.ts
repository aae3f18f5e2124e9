/** Splits files of long rows. DuckDB reads 2,048 rows at once, which would need too much memory. */
import { type FileHandle, open, rm } from 'node:fs/promises'
import type { Segment } from '../../staging/spool.ts'

/** Files with longer rows are split. DuckDB reads 2,048 rows of a file at once: 80 MiB for rows of 4 KiB. */
const ROW_BYTES_SPLIT = 4 * 1024
const PART_BYTES = 2 * 1024 * 1024
const READ_BYTES = 256 * 1024
const NEWLINE = 0x0a

/** Returns the file or, if its rows are long, smaller temporary files. Disposing the result deletes these. */
export async function splitRows({ file, rowBytesMax }: Segment) {
  await using written = new AsyncDisposableStack()
  const parts: string[] = []
  const next = () => {
    const part = `${file}.part${parts.length}`
    parts.push(part)
    written.defer(() => rm(part, { force: true }))
    return open(part, 'w')
  }
  const isSplit = rowBytesMax > ROW_BYTES_SPLIT
  if (isSplit) await split(file, next)
  const kept = written.move()
  return { files: isSplit ? parts : [file], isSplit, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

async function split(file: string, next: () => Promise<FileHandle>): Promise<void> {
  await using source = await open(file)
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  let part = await next()
  let written = 0
  try {
    for (;;) {
      const { bytesRead } = await source.read(buffer)
      if (bytesRead === 0) return
      let rest = buffer.subarray(0, bytesRead)
      const end = rest.indexOf(NEWLINE)
      if (written >= PART_BYTES && end >= 0) {
        await part.appendFile(rest.subarray(0, end + 1))
        await part.close()
        part = await next()
        written = 0
        rest = rest.subarray(end + 1)
      }
      await part.appendFile(rest)
      written += rest.length
    }
  } finally {
    await part.close()
  }
}
