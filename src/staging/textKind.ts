/** Recognizes strings that contain a date-time, from their bytes. */
import { Kind, type Kinds } from '../plan/kinds.ts'

const NO_NUMBER = 100

function twoDigits(bytes: Buffer, from: number): number {
  const [tens, ones] = [(bytes[from] as number) - 0x30, (bytes[from + 1] as number) - 0x30]
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NO_NUMBER
}

const FULL_DATE_TIME = '"2026-03-01T12:00:00"'.length - 1

/** Returns `dateTime` for a string such as `2026-03-01T12:00:00Z`, otherwise `text`. */
export function textKind(bytes: Buffer, at: number, end: number): Kinds {
  const last = end - 1
  if (last - at < FULL_DATE_TIME || bytes[at + 5] !== 0x2d || bytes[at + 11] !== 0x54) return Kind.text
  if (bytes[at + 8] !== 0x2d || bytes[at + 14] !== 0x3a || bytes[at + 17] !== 0x3a) return Kind.text
  const [century, year] = [twoDigits(bytes, at + 1), twoDigits(bytes, at + 3)]
  const [month, day] = [twoDigits(bytes, at + 6), twoDigits(bytes, at + 9)]
  if (century > 99 || year > 99 || century + year === 0 || month < 1 || month > 12) return Kind.text
  if (day < 1 || day > daysIn(century * 100 + year, month)) return Kind.text
  const isTime = twoDigits(bytes, at + 12) < 24 && twoDigits(bytes, at + 15) < 60 && twoDigits(bytes, at + 18) < 60
  return isTime && isZone(bytes, fractionEnd(bytes, at + FULL_DATE_TIME), last) ? Kind.dateTime : Kind.text
}

const daysIn = (year: number, month: number): number => {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

function fractionEnd(bytes: Buffer, at: number): number {
  if (bytes[at] !== 0x2e) return at
  let i = at + 1
  while ((bytes[i] as number) >= 0x30 && (bytes[i] as number) <= 0x39) i += 1
  return i === at + 1 ? at : i
}

/** A zone is empty, `Z`, or an offset such as `+02:00`. */
function isZone(bytes: Buffer, at: number, last: number): boolean {
  if (at === last) return true
  if (at + 1 === last) return bytes[at] === 0x5a
  if (at + 6 !== last || (bytes[at] !== 0x2b && bytes[at] !== 0x2d) || bytes[at + 3] !== 0x3a) return false
  return twoDigits(bytes, at + 1) <= 15 && twoDigits(bytes, at + 4) < 60
}
