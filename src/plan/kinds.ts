/**
 * What kinds of JSON values a field was seen to hold, as a bit mask. Masks only grow, so the kinds of a load are the
 * union over all of its rows: a column's type never follows from a sample.
 */

export const Kind = {
  null: 1,
  boolean: 2,
  /** A whole number that fits 64 bits. */
  integer: 4,
  /** A whole number beyond 64 bits. */
  bigInteger: 8,
  /** A number with a fraction of at most nine digits, fitting DECIMAL(38,9). */
  decimal: 16,
  /** A number whose digits don't fit DECIMAL(38,9). */
  wideDecimal: 32,
  /** A number written with an exponent; with `wideDecimal` when a double can't hold it. */
  exponent: 64,
  text: 128,
  /** Text that is an ISO 8601 date-time. */
  dateTime: 256,
  /** Text that is an ISO 8601 date. */
  date: 512,
  array: 1024,
  object: 2048,
  /** Not a kind of its own: at least one number was marked so that it isn't read as a double. */
  marked: 4096,
  /** A number of more digits than a double surely holds, without an exponent. */
  long: 8192,
} as const

export type Kinds = number

export const has = (kinds: Kinds, mask: number): boolean => (kinds & mask) !== 0
/** Whether nothing else than `mask` was seen. */
export const only = (kinds: Kinds, mask: number): boolean => (kinds & ~mask) === 0

export const NUMBERS = Kind.integer | Kind.bigInteger | Kind.decimal | Kind.wideDecimal | Kind.exponent | Kind.long
export const TEXTS = Kind.text | Kind.dateTime | Kind.date
export const NESTED = Kind.array | Kind.object
export const SCALARS = Kind.boolean | NUMBERS | TEXTS
