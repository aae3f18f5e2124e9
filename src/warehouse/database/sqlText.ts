/** Quotes names and texts for SQL. Each name or text from outside must pass through one of these functions. */

/** Returns a quoted identifier. */
export const name = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`

/** Returns a string literal. A NUL would end the statement, so it becomes chr(0). */
export const text = (value: string): string => {
  const quoted = `'${value.replaceAll("'", "''")}'`
  return quoted.includes('\0') ? `(${quoted.replaceAll('\0', `' || chr(0) || '`)})` : quoted
}

/** Returns quoted identifiers, separated by commas. Example with the alias `s`: `s."event_id", s."name"`. */
export const names = (identifiers: readonly string[], alias?: string): string =>
  identifiers.map((each) => (alias === undefined ? name(each) : `${alias}.${name(each)}`)).join(', ')

/** Returns the JSON pointer (RFC 6901) to a member of an object, as a string literal. */
export const pointer = (member: string): string => text(`/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`)

/** Returns SQL of a time, given in microseconds since 1970. */
export const time = (micros: number): string => `make_timestamptz(${micros})`

/** Returns SQL that formats a TIMESTAMPTZ as `formatInstant` does. Example: `2026-01-31T12:00:00.000000Z`. */
export const iso = (column: string): string => `strftime((${column}) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')`
