/** Copies a database file and checks the copy, in a separate process: the writer must not open the file twice. */
import { constants, rmSync } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'

const [, , from = '', temporary = ''] = process.argv

// Standard input ends when the writing process dies. Another process may then change the file, so this copy ends too.
process.stdin.on('end', () => {
  rmSync(temporary, { force: true })
  process.kill(process.pid, 'SIGKILL')
})
process.stdin.resume().unref()

/** A DuckDB file begins with three headers. Each header and block begins with a checksum of its other bytes. */
const HEADER_BYTES = 4_096
const HEADERS_BYTES = 3 * HEADER_BYTES
const WORD_BYTES = 8
/** Positions of words in a header: how often the header was written, the number of blocks, and the size of a block. */
const [ITERATION, BLOCKS, BLOCK_BYTES] = [1, 4, 5]
const BLOCK_BYTES_MAX = 262_144

const wordsOf = (/** @type {Buffer} */ bytes) =>
  new BigUint64Array(bytes.buffer, bytes.byteOffset, bytes.length / WORD_BYTES)

/** Returns true if the first word is DuckDB's checksum of the others. `asUintN` makes V8 use fast 64-bit integers. */
function isSound(/** @type {BigUint64Array} */ words) {
  let sum = 5_381n
  for (let at = 1; at < words.length; at += 1)
    sum = BigInt.asUintN(64, sum ^ BigInt.asUintN(64, (words[at] ?? 0n) * 0xbf58476d1ce4e5b9n))
  return sum === words[0]
}

/** Returns the numbers of blocks with a wrong checksum; [-1] if the headers are damaged or have an unknown format. */
async function damagedBlocks(/** @type {import('node:fs/promises').FileHandle} */ file) {
  const headers = Buffer.from(new ArrayBuffer(HEADERS_BYTES))
  await file.read(headers, 0, HEADERS_BYTES, 0)
  const [main, ...states] = [0, 1, 2].map((at) => wordsOf(headers.subarray(at * HEADER_BYTES, (at + 1) * HEADER_BYTES)))
  // DuckDB writes the second and the third header in turns. When it opens the file, it uses the newer one.
  const [newer] = states.toSorted((one, other) => (other[ITERATION] > one[ITERATION] ? 1 : -1))
  const blockBytes = Number(newer?.[BLOCK_BYTES])
  if (main === undefined || newer === undefined || !isSound(main) || !isSound(newer)) return [-1]
  if (blockBytes % WORD_BYTES !== 0 || blockBytes > BLOCK_BYTES_MAX) return [-1]
  const damaged = []
  const block = Buffer.from(new ArrayBuffer(blockBytes))
  const words = wordsOf(block)
  for (let number = 0; number < Number(newer[BLOCKS]); number += 1) {
    const { bytesRead } = await file.read(block, 0, blockBytes, HEADERS_BYTES + number * blockBytes)
    if (bytesRead < blockBytes || !isSound(words)) damaged.push(number)
  }
  return damaged
}

try {
  await copyFile(from, temporary, constants.COPYFILE_FICLONE)
  const file = await open(temporary, 'r')
  try {
    await file.sync()
    process.stdout.write(JSON.stringify(await damagedBlocks(file)))
  } finally {
    await file.close()
  }
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
  process.stderr.write(`${code ?? ''} ${message}\n`)
  process.exitCode = 1
}
