/** The ASCII bytes that a scan searches for, and functions that write numbers as digits. */
import { ORDINAL_DIGITS } from '../plan/stagedNames.ts'

export const TAB = 0x09
export const NEWLINE = 0x0a
export const QUOTE = 0x22
export const COMMA = 0x2c
export const MINUS = 0x2d
export const DOT = 0x2e
export const ZERO = 0x30
export const NINE = 0x39
export const COLON = 0x3a
export const OPEN_ARRAY = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_ARRAY = 0x5d
export const LETTER_N = 0x6e
export const LETTER_U = 0x75
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d

export const DIGITS_MAX = 16

/** Writes at most `DIGITS_MAX` digits and returns the position after them. A Buffer ignores digits beyond its end. */
export function writeDigits(out: Buffer, at: number, value: number): number {
  let end = at + 1
  for (let power = 10; power <= value; power *= 10) end += 1
  writeBefore(out, end, value)
  return end
}

export function writePadded(out: Buffer, at: number, value: number): void {
  out.fill(ZERO, at, at + ORDINAL_DIGITS)
  writeBefore(out, at + ORDINAL_DIGITS, value)
}

function writeBefore(out: Buffer, end: number, value: number): void {
  let rest = value
  let i = end
  do {
    // Bit operations are much faster than `Math.floor`, but are only correct up to 31 bits.
    const tenth = rest > 0x7fffffff ? Math.floor(rest / 10) : (rest / 10) | 0
    i -= 1
    out[i] = ZERO + (rest - tenth * 10)
    rest = tenth
  } while (rest > 0)
}
