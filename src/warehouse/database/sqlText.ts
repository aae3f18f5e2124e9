/** Quoting: every name and text that comes from outside goes through here before it stands in a statement. */

/** An identifier, safe against reserved words and quotes. */
export const name = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`

/** A text literal; a NUL would end the statement, so it comes as an expression. */
export const text = (value: string): string => {
  const quoted = `'${value.replaceAll("'", "''")}'`
  return quoted.includes('\0') ? `(${quoted.replaceAll('\0', `' || chr(0) || '`)})` : quoted
}

/** A list of identifiers, optionally of an alias. */
export const names = (identifiers: readonly string[], alias?: string): string =>
  identifiers.map((each) => (alias === undefined ? name(each) : `${alias}.${name(each)}`)).join(', ')

/** A JSON pointer to a member of an object (RFC 6901), as a literal. */
export const pointer = (member: string): string => text(`/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`)

/** A time from microseconds since 1970. */
export const time = (micros: number): string => `make_timestamptz(${micros})`
