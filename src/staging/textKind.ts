/** Finds the kind of a JSON string from its form: text, date or date-time. */
import { Kind, type Kinds } from '../plan/kinds.ts'

const isDigit = (c = 0): boolean => c >= 0x30 && c <= 0x39

/** Returns the kind of a string. Dates are recognised by form only; the cast checks whether they exist. */
export function textKind(bytes: Buffer, at: number, end: number): Kinds {
  const length = end - at - 2
  if (length < 10 || length > 40 || bytes[at + 5] !== 0x2d || bytes[at + 8] !== 0x2d) return Kind.text
  if (!isDigit(bytes[at + 1]) || !isDigit(bytes[at + 2]) || !isDigit(bytes[at + 3]) || !isDigit(bytes[at + 4])) {
    return Kind.text
  }
  if (!isDigit(bytes[at + 6]) || !isDigit(bytes[at + 7]) || !isDigit(bytes[at + 9]) || !isDigit(bytes[at + 10])) {
    return Kind.text
  }
  if (length === 10) return Kind.date
  const isTime =
    (bytes[at + 11] === 0x54 || bytes[at + 11] === 0x20) && bytes[at + 14] === 0x3a && isDigit(bytes[at + 13])
  const last = bytes[end - 2]
  return isTime && (isDigit(last) || last === 0x5a) ? Kind.dateTime : Kind.text
}
