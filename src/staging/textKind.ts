/** Recognizes strings that contain a date-time, from their bytes. */
import { Kind, type Kinds } from '../plan/kinds.ts'

/** Returns the number that the bytes spell, or NaN if one of the bytes is no digit. */
function digitsAt(bytes: Buffer, from: number, count: number): number {
  let value = 0
  for (let i = from; i < from + count; i += 1) {
    const digit = (bytes[i] as number) - 0x30
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

const FULL_DATE_TIME = '"2026-03-01T12:00:00"'.length - 1

/** Returns `dateTime` for a string such as `2026-03-01T12:00:00Z` (with or without zone), else `text`. */
export function textKind(bytes: Buffer, at: number, end: number): Kinds {
  const last = end - 1
  if (last - at < FULL_DATE_TIME || bytes[at + 5] !== 0x2d || bytes[at + 11] !== 0x54) return Kind.text
  if (bytes[at + 8] !== 0x2d || bytes[at + 14] !== 0x3a || bytes[at + 17] !== 0x3a) return Kind.text
  const [year, month, day] = [digitsAt(bytes, at + 1, 4), digitsAt(bytes, at + 6, 2), digitsAt(bytes, at + 9, 2)]
  if (!(year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month))) return Kind.text
  const [hour, minute, second] = [12, 15, 18].map((from) => digitsAt(bytes, at + from, 2)) as [number, number, number]
  return hour < 24 && minute < 60 && second < 60 && isZone(bytes, fractionEnd(bytes, at + FULL_DATE_TIME), last)
    ? Kind.dateTime
    : Kind.text
}

const daysIn = (year: number, month: number): number => {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

/** Returns the position after the fraction of a second, or `at` if there is no fraction. */
function fractionEnd(bytes: Buffer, at: number): number {
  if (bytes[at] !== 0x2e) return at
  let i = at + 1
  while (digitsAt(bytes, i, 1) >= 0) i += 1
  return i === at + 1 ? at : i
}

/** Returns true if the bytes from `at` to `last` are a zone: nothing, `Z`, or an offset such as `+02:00`. */
function isZone(bytes: Buffer, at: number, last: number): boolean {
  if (at === last) return true
  if (at + 1 === last) return bytes[at] === 0x5a
  if (at + 6 !== last || (bytes[at] !== 0x2b && bytes[at] !== 0x2d) || bytes[at + 3] !== 0x3a) return false
  return digitsAt(bytes, at + 1, 2) <= 15 && digitsAt(bytes, at + 4, 2) < 60
}
