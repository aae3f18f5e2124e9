/** Parses JSON in bytes without building the values. Finds values that DuckDB's reader would reject or change. */
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  DOT,
  MINUS,
  NINE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  ZERO,
  LETTER_U,
} from './bytes.ts'
import { DIGEST_CHARS_MAX, type Digest, writeDigest } from './digest.ts'
import { Kind, type Kinds } from '../plan/kinds.ts'

export class MalformedJson extends Error {
  override readonly name = 'MalformedJson'
  readonly position: number
  readonly size: number

  constructor(position: number, size: number, expected: string) {
    super(`expected ${expected} at byte ${position} of ${size}`)
    this.position = position
    this.size = size
  }

  get isCut(): boolean {
    return this.position >= this.size
  }
}

const DEPTH_MAX = 200
/** A number with more digits than this may lose precision as a double. */
const DOUBLE_DIGITS = 15
/** A number with a larger exponent may not fit in a double. */
const DOUBLE_POWER_MAX = 290
/** DuckDB writes smaller numbers with an exponent. Example: `1e-05`. */
const DOUBLE_PLAIN_MIN = 1e-4
const INT64_SURE_DIGITS = 18
const SCALE_DIGITS = 9
const WHOLE_DIGITS = 29
const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

const NEEDS_NO_ESCAPE = new Uint8Array(256).fill(1, 0x20)
NEEDS_NO_ESCAPE[QUOTE] = 0
NEEDS_NO_ESCAPE[BACKSLASH] = 0

export interface Splice {
  /** The position where `insert` replaces `remove` bytes. */
  readonly at: number
  readonly remove: number
  readonly insert: Buffer | Digest
}

/** Inserted before the escape of half a surrogate pair, `\ud800`, so that it becomes ordinary text: `\\ud800`. */
export const ONE_BACKSLASH = Buffer.from('\\')

export function insertedBytesMax(splices: readonly Splice[]): number {
  let sum = 0
  for (const { insert } of splices) sum += insert instanceof Uint8Array ? insert.length : DIGEST_CHARS_MAX
  return sum
}

/** Copies bytes and inserts the splices, which must be sorted. Returns the position after the copy. */
export function copySpliced(
  { bytes, from, to }: { bytes: Buffer; from: number; to: number },
  { out, end }: { out: Buffer; end: number },
  splices: readonly Splice[],
): number {
  let at = end
  let done = from
  for (const { at: until, remove, insert } of splices) {
    at += bytes.copy(out, at, done, until)
    if (insert instanceof Uint8Array) at += insert.copy(out, at)
    else at = writeDigest(out, at, insert)
    done = until + remove
  }
  return at + bytes.copy(out, at, done, to)
}

/** Parses the bytes of one page. Most methods return the position after the parsed text. */
export class JsonBytes {
  readonly bytes: Buffer
  readonly splices: Splice[] = []
  /** The number of escapes found so far. If the number grows while a value is scanned, the value has escapes. */
  escapeCount = 0
  kind: Kinds = 0
  /** The last parsed number if it is whole and has at most 15 digits, otherwise NaN. */
  whole = Number.NaN
  readonly #textOpen: Buffer
  readonly #textClose = Buffer.from('"')

  /** A number that a double would change becomes a string that begins with `numberPrefix`. */
  constructor(bytes: Buffer, numberPrefix: string) {
    this.bytes = bytes
    this.#textOpen = Buffer.from(`"${numberPrefix}`)
  }

  dropSplices(from: number): void {
    // Setting an array's length is slow, even if the length does not change.
    if (this.splices.length > from) this.splices.length = from
  }

  malformed(at: number, expected: string): MalformedJson {
    return new MalformedJson(at, this.bytes.length, expected)
  }

  /** Replaces line breaks and tabs with blanks, because they would separate rows and columns in staged files. */
  skipSpace(from: number): number {
    const bytes = this.bytes
    const end = bytes.length
    let i = from
    // Checks `end` before each read, because a single read out of bounds would make V8 run this loop slower.
    while (i < end) {
      const c = bytes[i] as number
      if (c > 0x20) return i
      if (c !== 0x20) {
        if (c !== 0x0a && c !== 0x0d && c !== 0x09) return i
        bytes[i] = 0x20
      }
      i += 1
    }
    return i
  }

  value(at: number, depth = 0): number {
    switch (this.bytes[at] ?? 0) {
      case QUOTE:
        this.kind = Kind.text
        return this.string(at)
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        return this.#nested(at, depth)
      case 0x74:
        return this.#literal(at, 'true', Kind.boolean)
      case 0x66:
        return this.#literal(at, 'false', Kind.boolean)
      case 0x6e:
        return this.#literal(at, 'null', Kind.null)
      default:
        return this.number(at)
    }
  }

  /** Returns text in which a second backslash makes each lone surrogate, such as `\\ud800`, plain characters. */
  textOf(from: number, to: number, splices: readonly Splice[]): string {
    const loneSurrogates = splices
      .filter(({ at, insert }) => insert === ONE_BACKSLASH && at >= from && at < to)
      .toSorted((a, b) => a.at - b.at)
    const starts = [from, ...loneSurrogates.map(({ at }) => at)]
    return starts.map((start, n) => this.bytes.toString('utf8', start, starts[n + 1] ?? to)).join('\\')
  }

  string(at: number): number {
    const bytes = this.bytes
    if (bytes[at] !== QUOTE) throw this.malformed(at, 'a string')
    const end = bytes.length
    let i = at + 1
    while (i < end) {
      const c = bytes[i] as number
      if (NEEDS_NO_ESCAPE[c] === 1) i += 1
      else if (c === QUOTE) return i + 1
      else if (c === BACKSLASH) i = this.#escape(i)
      else throw this.malformed(i, 'no control character in a string')
    }
    throw this.malformed(end, 'the end of a string')
  }

  #escape(at: number): number {
    this.escapeCount += 1
    const c = this.bytes[at + 1]
    if (c === LETTER_U) return this.#unicodeEscape(at)
    // After a backslash, JSON allows one of these characters: " \ / b f n r t u.
    if (c === QUOTE || c === BACKSLASH || c === 0x2f || c === 0x62 || c === 0x66 || c === 0x6e) return at + 2
    if (c === 0x72 || c === 0x74) return at + 2
    throw this.malformed(at + 1, 'an escape that JSON knows')
  }

  #unicodeEscape(at: number): number {
    const unit = this.#hex4(at + 2)
    if (unit < 0xd800 || unit > 0xdfff) return at + 6
    const paired = unit < 0xdc00 && this.bytes[at + 6] === BACKSLASH && this.bytes[at + 7] === LETTER_U
    const low = paired ? this.#hex4(at + 8) : 0
    if (low >= 0xdc00 && low <= 0xdfff) return at + 12
    this.splices.push({ at, remove: 0, insert: ONE_BACKSLASH })
    return at + 6
  }

  #hex4(at: number): number {
    const text = this.bytes.toString('latin1', at, at + 4)
    const digits = /^[0-9a-fA-F]{0,4}/.exec(text)?.[0].length ?? 0
    if (digits < 4) throw this.malformed(at + digits, 'four hexadecimal digits')
    return Number.parseInt(text, 16)
  }

  number(at: number): number {
    const bytes = this.bytes
    const first = bytes[at] === MINUS ? at + 1 : at
    let i = first
    let value = 0
    let c = bytes[i] as number
    while (c >= ZERO && c <= NINE) {
      value = value * 10 + (c - ZERO)
      i += 1
      c = bytes[i] as number
    }
    const digits = i - first
    if (digits === 0) throw this.malformed(first, 'a value')
    if (digits > 1 && bytes[first] === ZERO) throw this.malformed(at, 'a number without leading zeros')
    if (c === DOT || c === 0x65 || c === 0x45) return this.#fraction(at, i, digits)
    this.whole = digits <= DOUBLE_DIGITS ? (first === at ? value : -value) : Number.NaN
    if (digits > INT64_SURE_DIGITS) this.kind = this.#longInteger(at, i, digits)
    else this.kind = digits > DOUBLE_DIGITS ? Kind.integer | Kind.long : Kind.integer
    return i
  }

  #longInteger(at: number, end: number, digits: number): Kinds {
    this.#markAsText(at, end)
    const value = digits <= 20 ? BigInt(this.bytes.toString('latin1', at, end)) : INT64_MAX + 1n
    if (value >= INT64_MIN && value <= INT64_MAX) return Kind.integer | Kind.marked | Kind.long
    return (digits <= WHOLE_DIGITS ? Kind.bigInteger : Kind.wideDecimal) | Kind.marked | Kind.long
  }

  #fraction(at: number, pointAt: number, wholeDigits: number): number {
    const bytes = this.bytes
    this.whole = Number.NaN
    let i = pointAt
    let scale = 0
    if (bytes[i] === DOT) {
      i = this.#digits(i + 1)
      scale = i - pointAt - 1
    }
    const digits = wholeDigits + scale
    if (bytes[i] === 0x65 || bytes[i] === 0x45) return this.#exponent(at, i, digits)
    if (wholeDigits > WHOLE_DIGITS) this.kind = Kind.wideDecimal
    else if (scale > SCALE_DIGITS) this.kind = Kind.decimal | Kind.wideDecimal
    else this.kind = this.#isZeros(pointAt + 1, i) ? Kind.whole : Kind.decimal
    if (digits > DOUBLE_DIGITS) {
      this.#markAsText(at, i)
      this.kind |= Kind.marked | Kind.long
    } else if (wholeDigits === 1 && this.#isTiny(at, pointAt, i)) {
      this.#markAsText(at, i)
      this.kind |= Kind.marked
    }
    return i
  }

  #isZeros(from: number, to: number): boolean {
    for (let i = from; i < to; i += 1) if (this.bytes[i] !== ZERO) return false
    return true
  }

  #isTiny(at: number, pointAt: number, end: number): boolean {
    if (this.bytes[pointAt + 1] !== ZERO || this.bytes[pointAt + 2] !== ZERO) return false
    const value = Math.abs(Number(this.bytes.toString('latin1', at, end)))
    return value > 0 && value < DOUBLE_PLAIN_MIN
  }

  #exponent(at: number, letterAt: number, digits: number): number {
    const { bytes } = this
    const sign = bytes[letterAt + 1] === 0x2b || bytes[letterAt + 1] === MINUS ? 2 : 1
    const i = this.#digits(letterAt + sign)
    this.#markAsText(at, i)
    const power = Math.abs(Number(bytes.toString('latin1', letterAt + 1, i)))
    const isDouble = digits <= DOUBLE_DIGITS && power <= DOUBLE_POWER_MAX
    const value = Math.abs(Number(bytes.toString('latin1', at, i)))
    let wider: Kinds = 0
    if (value < 10 ** WHOLE_DIGITS) {
      if (!Number.isInteger(value)) wider = Number(value.toFixed(SCALE_DIGITS)) === value ? Kind.decimal : 0
      else wider = value < 2 ** 63 ? 0 : Kind.bigInteger
    }
    this.kind = (isDouble ? Kind.exponent : Kind.exponent | Kind.wideDecimal) | wider | Kind.marked
    return i
  }

  #digits(from: number): number {
    let i = from
    for (let c = this.bytes[i] as number; c >= ZERO && c <= NINE; c = this.bytes[i] as number) i += 1
    if (i === from) throw this.malformed(from, 'a digit')
    return i
  }

  #markAsText(at: number, end: number): void {
    this.splices.push({ at, remove: 0, insert: this.#textOpen }, { at: end, remove: 0, insert: this.#textClose })
  }

  #literal(at: number, word: 'true' | 'false' | 'null', kind: Kinds): number {
    const bytes = this.bytes
    for (let k = 1; k < word.length; k += 1) {
      if (bytes[at + k] !== word.charCodeAt(k)) throw this.malformed(at + k, word)
    }
    this.kind = kind
    return at + word.length
  }

  #nested(at: number, depth: number): number {
    if (depth > DEPTH_MAX) throw this.malformed(at, `no more than ${DEPTH_MAX} levels of nesting`)
    const isObject = this.bytes[at] === OPEN_OBJECT
    const close = isObject ? CLOSE_OBJECT : CLOSE_ARRAY
    let marked = 0
    let i = this.skipSpace(at + 1)
    while (this.bytes[i] !== close) {
      if (isObject) i = this.colon(this.string(i))
      i = this.next(this.value(i, depth + 1), close, isObject ? 'an object' : 'an array')
      marked |= this.kind & Kind.marked
    }
    this.kind = (isObject ? Kind.object : Kind.array) | marked
    return i + 1
  }

  /** Returns the position of the next value or of the byte `close`. `whole` names the array or object in errors. */
  next(at: number, close: number, whole: string): number {
    let i = this.skipSpace(at)
    if (this.bytes[i] === close) return i
    if (this.bytes[i] !== COMMA) throw this.malformed(i, `a comma or the end of ${whole}`)
    i = this.skipSpace(i + 1)
    if (this.bytes[i] === close) throw this.malformed(i, 'a value behind the comma')
    return i
  }

  colon(at: number): number {
    const i = this.skipSpace(at)
    if (this.bytes[i] !== COLON) throw this.malformed(i, 'a colon')
    return this.skipSpace(i + 1)
  }
}
