/** Bits for the kinds of JSON values in a field. */

export const Kind = {
  null: 1,
  boolean: 2,
  /** A whole number that fits in 64 bits. */
  integer: 4,
  bigInteger: 8,
  /** A number with at most nine fractional digits that fits DECIMAL(38,9). */
  decimal: 16,
  /** A number whose digits don't fit DECIMAL(38,9). If the rounded number fits, `decimal` is set, too. */
  wideDecimal: 32,
  exponent: 64,
  text: 128,
  /** A complete ISO 8601 date-time in the extended format, with a date that exists. */
  dateTime: 256,
  array: 1024,
  object: 2048,
  /** Staging wrote the number as text, for example because a double would round it. */
  marked: 4096,
  /** A number without an exponent that has more digits than a double can store. */
  long: 8192,
  /** A whole number such as 7.0. */
  whole: 16384,
} as const

export type Kinds = number

export const has = (kinds: Kinds, mask: number): boolean => (kinds & mask) !== 0
export const only = (kinds: Kinds, mask: number): boolean => (kinds & ~mask) === 0

export const NUMBERS =
  Kind.integer | Kind.bigInteger | Kind.decimal | Kind.whole | Kind.wideDecimal | Kind.exponent | Kind.long
export const TEXTS = Kind.text | Kind.dateTime
export const NESTED = Kind.array | Kind.object
export const SCALARS = Kind.boolean | NUMBERS | TEXTS
