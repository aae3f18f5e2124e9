/**
 * SQL that converts JSON text to typed values. All values are read as text and cast strictly, because DuckDB's JSON
 * reader would silently turn 1.7 into 2 and true into 1, and drop the offset of a time. A value that does not fit
 * becomes NULL; the caller decides what happens to it.
 */
import type { DuckType } from '../../../schema/tables.ts'
import { widened } from '../../plan/columns.ts'
import { has, Kind, type Kinds, only } from '../../plan/kinds.ts'
import { pointer, text } from '../database/sqlText.ts'

/** Returns SQL that casts `value` (a VARCHAR of these kinds) to `type`; NULL for a value that does not fit. */
export function castOf(value: string, type: DuckType, kinds: Kinds): string {
  switch (type) {
    case 'BIGINT':
    case 'INTEGER':
    case 'UBIGINT':
      // DuckDB casts '1.7' to the BIGINT 2, so only texts of digits are cast.
      return only(kinds, Kind.null | Kind.integer)
        ? `try_cast(${value} AS BIGINT)`
        : `CASE WHEN regexp_full_match(${value}, '-?[0-9]+') THEN try_cast(${value} AS BIGINT) END`
    case 'DECIMAL(38,9)':
      return decimalOf(value)
    case 'DOUBLE':
      return `try_cast(${value} AS DOUBLE)`
    case 'BOOLEAN':
      return `CASE ${value} WHEN 'true' THEN true WHEN 'false' THEN false END`
    case 'TIMESTAMPTZ':
      return only(kinds, Kind.null | Kind.dateTime | Kind.date)
        ? timeOf(value)
        : `CASE WHEN regexp_matches(${value}, '^[0-9]{4}-[0-9]{2}-[0-9]{2}') THEN ${timeOf(value)} END`
    case 'DATE':
      return `try_cast(${value} AS DATE)`
    default:
      return value
  }
}

/**
 * Returns SQL of a decimal. For more than 18 digits, DuckDB's cast from text is a hundred times slower than for fewer.
 * So the narrow cast is tried first. If it fails, whole part and fraction are cast separately, which is also exact.
 */
const decimalOf = (value: string): string => {
  const whole = `try_cast(split_part(${value}, '.', 1) AS BIGINT)::DECIMAL(38,9)`
  const fraction = `try_cast('0.' || split_part(${value}, '.', 2) AS DECIMAL(18,9))`
  const inParts = `CASE WHEN starts_with(${value}, '-') THEN ${whole} - ${fraction} ELSE ${whole} + ${fraction} END`
  const wide = `CASE WHEN regexp_full_match(${value}, '-?[0-9]{1,18}[.][0-9]{1,17}') THEN (${inParts})::DECIMAL(38,9) ELSE try_cast(${value} AS DECIMAL(38,9)) END`
  return `coalesce(try_cast(${value} AS DECIMAL(18,9))::DECIMAL(38,9), ${wide})`
}

/** Returns SQL of a time. ISO 8601 also allows times without seconds, and with a comma. DuckDB reads neither. */
const timeOf = (value: string): string => {
  const long = `regexp_replace(replace(upper(${value}), ',', '.'), '^([-0-9]{10})[T ]([0-9]{2}:[0-9]{2})([-+Z].*)?$', '\\1T\\2:00\\3')`
  return `coalesce(try_cast(${value} AS TIMESTAMPTZ), try_cast(${long} AS TIMESTAMPTZ))`
}

/** Returns whether all values of these kinds fit `type`. If so, no row has to be checked. */
export function alwaysFits(type: DuckType, kinds: Kinds): boolean {
  switch (type) {
    case 'BIGINT':
      return only(kinds, Kind.null | Kind.integer | Kind.marked | Kind.long)
    case 'DECIMAL(38,9)':
      return only(kinds, Kind.null | Kind.integer | Kind.decimal | Kind.bigInteger | Kind.marked | Kind.long)
    case 'BOOLEAN':
      return only(kinds, Kind.null | Kind.boolean)
    case 'VARCHAR':
      return !has(kinds, Kind.array | Kind.object)
    case 'JSON':
      return true
    default:
      return only(kinds, Kind.null)
  }
}

/** Returns whether a discovered column of this type can store every value of these kinds. */
export function holdsAll(type: DuckType, kinds: Kinds): boolean {
  return type === 'VARCHAR' || type === 'JSON' || widened(type, kinds) === type
}

/** Returns the condition that the column stores the value exactly, although the value's kind differs; may be NULL. */
export function exactly(value: string, type: DuckType, kinds: Kinds): string {
  const casts = `(${castOf(value, type, kinds)}) IS NOT NULL`
  if (type === 'DATE') return `(${casts} AND regexp_full_match(${value}, '[0-9]{4}-[0-9]{2}-[0-9]{2}'))`
  if (type === 'DECIMAL(38,9)') return `(${casts} AND NOT ${tooFine(value)})`
  return type === 'DOUBLE' ? `(${casts} AND length(${value}) <= ${DOUBLE_CHARS})` : `(${casts})`
}

/** A number with at most this number of characters does not change when it is converted to a double and back. */
const DOUBLE_CHARS = 15

/** Returns SQL like `castOf`, but NULL also for a value that the column would store in another form. */
export const exactCast = (value: string, type: DuckType, kinds: Kinds): string =>
  holdsAll(type, kinds)
    ? castOf(value, type, kinds)
    : `CASE WHEN ${exactly(value, type, kinds)} THEN ${castOf(value, type, kinds)} END`

/** Returns SQL of a marked number without its mark. */
export const unmarkedText = (value: string, mark: string): string => `replace(${value}, ${text(mark)}, '')`

/** Returns SQL of JSON text in which the marked texts are replaced by the numbers, with all their digits. */
export const unmarkedJson = (value: string, mark: string): string =>
  `regexp_replace((${value})::VARCHAR, ${text(`"${mark}(-?[0-9.eE+-]+)"`)}, '\\1', 'g')::JSON`

/** Returns SQL of a member of a JSON object. DuckDB's own operator would convert its numbers to doubles. */
export function memberOf(json: string, member: string, mark: string): string {
  const parts = `regexp_extract_all(${json}::VARCHAR, '"(?:[^"\\\\]|\\\\.)*"|[^"]+')`
  const marked = `regexp_replace(x, '-?[0-9][0-9.eE+-]*', ${text(`"${mark}\\0"`)}, 'g')`
  const whole = `array_to_string(list_transform(${parts}, lambda x: CASE WHEN starts_with(x, '"') THEN x ELSE ${marked} END), '')`
  return unmarkedJson(`${whole}::JSON -> ${pointer(member)}`, mark)
}

/**
 * Returns the condition that a number, as text, has an exponent or more than nine fractional digits: DECIMAL(38,9)
 * would round it.
 */
export const tooFine = (value: string): string => `regexp_matches(${value}, '[.][0-9]{9}[0-9]*[1-9]|[eE]')`

const NOUNS: Record<DuckType, string> = {
  BIGINT: 'no 64-bit integer',
  INTEGER: 'no integer',
  UBIGINT: 'no integer',
  'DECIMAL(38,9)': 'no decimal that fits',
  DOUBLE: 'no number',
  BOOLEAN: 'neither true nor false',
  TIMESTAMPTZ: 'no date-time',
  DATE: 'no date',
  VARCHAR: 'no text',
  JSON: 'no JSON',
}

/** Returns the first words of the reason why a row with such a value in a documented field is rejected. */
export const misfitReason = (field: string, type: DuckType): string => `${field} is ${NOUNS[type]}: `
