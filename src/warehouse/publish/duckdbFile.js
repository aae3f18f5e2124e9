/** Reads the format of a DuckDB file: three headers, then blocks. Each of them begins with a checksum. */
const HEADER_BYTES = 4_096
export const HEADERS_BYTES = 3 * HEADER_BYTES
const WORD_BYTES = 8
/** Positions in a header, in words of 8 bytes. */
const [WRITE_COUNTER, BLOCKS, BLOCK_BYTES] = [1, 4, 5]
const BLOCK_BYTES_MAX = 262_144

export const wordsOf = (/** @type {Buffer} */ bytes) =>
  new BigUint64Array(bytes.buffer, bytes.byteOffset, bytes.length / WORD_BYTES)

/** Returns whether the first word is the checksum of the other words. */
export function isIntact(/** @type {BigUint64Array} */ words) {
  let sum = 5_381n
  for (let at = 1; at < words.length; at += 1)
    sum = BigInt.asUintN(64, sum ^ BigInt.asUintN(64, (words[at] ?? 0n) * 0xbf58476d1ce4e5b9n))
  return sum === words[0]
}

/** Reads the headers. `blockBytes` is undefined if they are damaged or have an unknown format. */
export async function headersOf(/** @type {import('node:fs/promises').FileHandle} */ file) {
  const bytes = Buffer.from(new ArrayBuffer(HEADERS_BYTES))
  await file.read(bytes, 0, HEADERS_BYTES, 0)
  const main = bytes.subarray(0, HEADER_BYTES)
  const states = [1, 2].map((at) => wordsOf(bytes.subarray(at * HEADER_BYTES, (at + 1) * HEADER_BYTES)))
  // DuckDB writes the second and the third header alternately, and uses the newer one.
  const [newer = new BigUint64Array()] = states.toSorted((a, b) =>
    (b[WRITE_COUNTER] ?? 0n) > (a[WRITE_COUNTER] ?? 0n) ? 1 : -1,
  )
  const blockBytes = Number(newer[BLOCK_BYTES])
  const isKnown =
    isIntact(wordsOf(main)) && isIntact(newer) && blockBytes % WORD_BYTES === 0 && blockBytes <= BLOCK_BYTES_MAX
  return { bytes, main, blockBytes: isKnown ? blockBytes : undefined, blocks: Number(newer[BLOCKS]) }
}

/** Returns the numbers of blocks with a wrong checksum, or [-1] if the headers cannot be used. */
export async function damagedBlocks(/** @type {import('node:fs/promises').FileHandle} */ file) {
  const { blockBytes, blocks } = await headersOf(file)
  if (blockBytes === undefined) return [-1]
  const damaged = []
  const block = Buffer.from(new ArrayBuffer(blockBytes))
  const words = wordsOf(block)
  for (let number = 0; number < blocks; number += 1) {
    const { bytesRead } = await file.read(block, 0, blockBytes, HEADERS_BYTES + number * blockBytes)
    if (bytesRead < blockBytes || !isIntact(words)) damaged.push(number)
  }
  return damaged
}
