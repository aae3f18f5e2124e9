/** Quoting: each name and text from outside passes one of these functions before it becomes part of a statement. */

/** Returns a quoted identifier. */
export const name = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`

/** Returns a string literal. A NUL would end the statement, so it becomes chr(0). */
export const text = (value: string): string => {
  const quoted = `'${value.replaceAll("'", "''")}'`
  return quoted.includes('\0') ? `(${quoted.replaceAll('\0', `' || chr(0) || '`)})` : quoted
}

/** Returns a list of quoted identifiers, each with the alias in front when one is given. */
export const names = (identifiers: readonly string[], alias?: string): string =>
  identifiers.map((each) => (alias === undefined ? name(each) : `${alias}.${name(each)}`)).join(', ')

/** Returns a JSON pointer to a member of an object (RFC 6901) as a literal. */
export const pointer = (member: string): string => text(`/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`)

/** Returns a time from microseconds since 1970. */
export const time = (micros: number): string => `make_timestamptz(${micros})`
