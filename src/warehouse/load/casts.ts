/** Casts JSON values from text, because DuckDB's JSON reader would turn 1.7 into 2. */
import type { DuckType } from '../../../schema/tables.ts'
import { has, Kind, type Kinds, NESTED, only } from '../../plan/kinds.ts'
import { pointer, text } from '../database/sql.ts'

/** Returns SQL that casts `value`, or returns NULL if the value does not fit. */
export function castOf(value: string, type: DuckType, kinds: Kinds): string {
  return CASTS[type]?.(value, alwaysFits(type, kinds & ~NESTED)) ?? value
}

const CASTS: Partial<Record<DuckType, (value: string, fits: boolean) => string>> = {
  BIGINT: (value, fits) => (fits ? `try_cast(${value} AS BIGINT)` : withPlainNumber(value, integerOf)),
  'DECIMAL(38,9)': (value, fits) => (fits ? decimalOf(value) : withPlainNumber(value, decimalOf)),
  DOUBLE: (value, fits) =>
    fits
      ? `try_cast(${value} AS DOUBLE)`
      : `CASE WHEN regexp_full_match(${trimmed(value)}, ${text(`[+]?${NUMBER}`)}) AND isfinite(try_cast(${value} AS DOUBLE)) THEN try_cast(${value} AS DOUBLE) END`,
  BOOLEAN: (value, fits) =>
    `CASE ${fits ? value : trimmed(value)} WHEN 'true' THEN true WHEN 'false' THEN false WHEN '1' THEN true WHEN '0' THEN false END`,
  TIMESTAMPTZ: (value, fits) => (fits ? `try_cast(${value} AS TIMESTAMPTZ)` : timeOf(value)),
  DATE: (value) =>
    `CASE WHEN regexp_full_match(${trimmed(value)}, '[0-9]{4}-[0-9]{2}-[0-9]{2}') THEN try_cast(${value} AS DATE) END`,
}

export const trimmed = (value: string): string => `trim(${value}, E' \\t\\r\\n')`

/** Also matches numbers that JSON does not allow, such as `007` and `.5`. */
const NUMBER = '-?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,3})?'

/** DECIMAL(38,9) has 29 digits before the point. 60 leaves room for unusual forms, such as `0.001e30`. */
const EXPONENT_MAX = 60

/** Returns SQL that computes `value` once, although `body` uses it several times. */
export const computeOnce = (value: string, as: string, body: (computed: string) => string): string =>
  `list_transform([${value}], lambda ${as}: ${body(as)})[1]`

/** Returns `body` with SQL for the number without an exponent. Example: `+1e2` becomes `100`. */
const withPlainNumber = (value: string, body: (plain: string) => string): string =>
  computeOnce(`regexp_replace(${trimmed(value)}, '^[+]', '')`, 'n', (n) => computeOnce(plainNumberOf(n), 'p', body))

const integerOf = (n: string): string =>
  `CASE WHEN regexp_full_match(${n}, '-?[0-9]+([.]0*)?') THEN try_cast(split_part(${n}, '.', 1) AS BIGINT) END`

function plainNumberOf(n: string): string {
  const [whole, fraction] = [1, 2].map((part) => `split_part(regexp_extract(${n}, '^-?([^eE]*)', 1), '.', ${part})`)
  const power = `regexp_extract(${n}, '[eE][+]?(-?[0-9]+)$', 1)::INTEGER`
  const zeros = '0'.repeat(EXPONENT_MAX)
  const digits = `'${zeros}' || ${whole} || ${fraction} || '${zeros}'`
  const point = `${EXPONENT_MAX} + length(${whole}) + ${power}`
  const shifted = `regexp_extract(${n}, '^-?') || regexp_replace(left(${digits}, ${point}), '^0+([0-9])', '\\1') || regexp_replace('.' || substr(${digits}, ${point} + 1), '[.]?0*$', '')`
  return `CASE WHEN NOT regexp_full_match(${n}, ${text(NUMBER)}) THEN NULL
    WHEN NOT regexp_matches(${n}, '[eE]') THEN ${n}
    WHEN abs(${power}) <= ${EXPONENT_MAX} THEN ${shifted} END`
}

/** Casts whole part and fraction separately to 18 digits, because a cast to 38 digits is a hundred times slower. */
const decimalOf = (value: string): string => {
  const whole = `try_cast(split_part(${value}, '.', 1) AS BIGINT)::DECIMAL(38,9)`
  const sign = `CASE WHEN starts_with(${value}, '-') THEN '-' ELSE '' END`
  const fraction = `try_cast(${sign} || '0.' || split_part(${value}, '.', 2) AS DECIMAL(18,9))`
  const wide = `CASE WHEN regexp_full_match(${value}, '-?[0-9]{1,18}[.][0-9]{1,17}') THEN (${whole} + ${fraction})::DECIMAL(38,9) ELSE try_cast(${value} AS DECIMAL(38,9)) END`
  return `coalesce(try_cast(${value} AS DECIMAL(18,9))::DECIMAL(38,9), ${wide})`
}

/** DuckDB can't read some forms of ISO 8601, so the SQL rewrites these first. */
function timeOf(value: string): string {
  const inExtended = `regexp_replace(regexp_replace(replace(upper(${trimmed(value)}), ',', '.'),
    '^([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})', '\\1-\\2-\\3T\\4:\\5:\\6'),
    '^([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})', '\\1-\\2-\\3T\\4:\\5')`
  const withSeconds = `regexp_replace(${inExtended}, '^([-0-9]{10})[T ]([0-9]{2}:[0-9]{2})([-+Z].*)?$', '\\1T\\2:00\\3')`
  return computeOnce(withSeconds, 't', timeWithLeapSecond)
}

const timeWithLeapSecond = (t: string): string => `CASE
  WHEN regexp_matches(${t}, '^[-0-9]{10}[T ][0-9]{2}:[0-9]{2}:60') THEN try_cast(regexp_replace(${t}, ':60', ':59') AS TIMESTAMPTZ) + INTERVAL 1 SECOND
  WHEN regexp_matches(${t}, '^[0-9]{4}-[0-9]{2}-[0-9]{2}') THEN try_cast(${t} AS TIMESTAMPTZ) END`

const WHOLE_OR_MARKED = Kind.integer | Kind.marked

const FITTING: Partial<Record<DuckType, Kinds>> = {
  BIGINT: WHOLE_OR_MARKED | Kind.long,
  'DECIMAL(38,9)': WHOLE_OR_MARKED | Kind.decimal | Kind.whole | Kind.bigInteger | Kind.long,
  DOUBLE: WHOLE_OR_MARKED | Kind.decimal | Kind.whole | Kind.exponent,
  BOOLEAN: Kind.boolean,
  TIMESTAMPTZ: Kind.dateTime,
  VARCHAR: ~NESTED,
  JSON: ~0,
}

export const alwaysFits = (type: DuckType, kinds: Kinds): boolean => only(kinds, Kind.null | (FITTING[type] ?? 0))

/** Returns SQL that is true for a misfit. Empty text is NULL, not a misfit. */
export const misfits = (value: string, type: DuckType, kinds: Kinds): string =>
  type === 'VARCHAR' ? 'false' : `((${castOf(value, type, kinds)}) IS NULL AND ${trimmed(value)} <> '')`

/** Returns SQL that is true if the type might round the number. */
export function roundsSql(value: string, type: DuckType, kinds: Kinds): string | undefined {
  if (type === 'DOUBLE' && !alwaysFits(type, kinds)) return `length(${value}) > ${DOUBLE_CHARS}`
  if (type !== 'DECIMAL(38,9)' || !has(kinds, Kind.wideDecimal | Kind.exponent | Kind.text)) return undefined
  return withPlainNumber(value, (n) => `regexp_matches(${n}, '[.][0-9]{9}[0-9]*[1-9]')`)
}

/** A number of up to this many characters survives conversion to a double and back. */
const DOUBLE_CHARS = 15

export const unmarkedText = (value: string, numberPrefix: string): string =>
  `replace(${value}, ${text(numberPrefix)}, '')`

/** Returns SQL that is true for arrays and objects. Tests one character, because JSON functions need more memory. */
export const isNestedSql = (json: string): string => `left((${json})::VARCHAR, 1) IN ('{', '[')`

/** Returns SQL that turns strings with the prefix back into numbers. Example: `"<numberPrefix>0.1"` becomes `0.1`. */
export const unmarkedJson = (value: string, numberPrefix: string): string =>
  `regexp_replace((${value})::VARCHAR, ${text(`"${numberPrefix}(-?[0-9.eE+-]+)"`)}, '\\1', 'g')`

/** Returns SQL that reads a member with all digits of its numbers. DuckDB's `->` would lose digits. */
export const memberOf = (json: string, member: string, numberPrefix: string): string =>
  unmarkedJson(`${markedJson(json, numberPrefix)} -> ${pointer(member)}`, numberPrefix)

/** Returns SQL that marks each number in JSON, to keep all its digits. */
export function markedJson(json: string, numberPrefix: string): string {
  const parts = `regexp_extract_all(${json}::VARCHAR, '"(?:[^"\\\\]|\\\\.)*"|[^"]+')`
  const marked = `regexp_replace(x, '-?[0-9][0-9.eE+-]*', ${text(`"${numberPrefix}\\0"`)}, 'g')`
  return `array_to_string(list_transform(${parts}, lambda x: CASE WHEN starts_with(x, '"') THEN x ELSE ${marked} END), '')::JSON`
}
