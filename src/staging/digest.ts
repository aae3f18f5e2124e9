/** A row contains a digest of each collection, so a changed item changes the row. */
import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, writeDigits } from './bytes.ts'

export interface Digest {
  readonly first: number
  readonly second: number
  readonly isObject: boolean
}

const POSITIVE = 0x7fffffff
const IN_OBJECT = Buffer.from('{"~":')
/** The longest digest is `{"~":[2147483647,2147483647]}`. */
export const DIGEST_CHARS_MAX = 2 * 10 + 3 + IN_OBJECT.length + 1

/** Writes `[1,2]` for an array or `{"~":[1,2]}` for an object. Returns the position after the digest. */
export function writeDigest(out: Buffer, at: number, { first, second, isObject }: Digest): number {
  let end = at
  if (isObject) end += IN_OBJECT.copy(out, end)
  out[end] = OPEN_ARRAY
  end = writeDigits(out, end + 1, first)
  out[end] = COMMA
  end = writeDigits(out, end + 1, second)
  out[end] = CLOSE_ARRAY
  if (isObject) out[++end] = CLOSE_OBJECT
  return end + 1
}

export function digestOf(view: DataView, from: number, to: number): Digest {
  let first = (to - from) | 0
  let second = ~first
  let i = from
  for (; i + 4 <= to; i += 4) {
    const word = view.getInt32(i, true)
    first = mixWord(first, word, 0xcc9e2d51 | 0)
    second = mixWord(second, word, 0x85ebca77 | 0)
  }
  for (; i < to; i += 1) {
    const byte = view.getUint8(i)
    first = mixWord(first, byte, 0xcc9e2d51 | 0)
    second = mixWord(second, byte, 0x85ebca77 | 0)
  }
  const isObject = view.getUint8(from) === OPEN_OBJECT
  return { first: finalizeMurmur3(first) & POSITIVE, second: finalizeMurmur3(second) & POSITIVE, isObject }
}

function mixWord(state: number, word: number, factor: number): number {
  const scrambled = Math.imul(word, factor)
  const turned = Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b873593)
  const joined = state ^ turned
  return (Math.imul((joined << 13) | (joined >>> 19), 5) + 0x38495ab5) | 0
}

function finalizeMurmur3(state: number): number {
  let h = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
