/** The interface that runs SQL, and functions that write names and values as SQL. */
export type SqlValue = string | number | bigint | boolean | null
export type SqlRow = Record<string, SqlValue | Date>

export interface Sql {
  run(sql: string, values?: readonly SqlValue[]): Promise<void>
  rows<T = SqlRow>(sql: string, values?: readonly SqlValue[]): Promise<T[]>
  /** Like `rows`, but reuses the cached result while no table of the query has changed. */
  cachedRows<T = SqlRow>(sql: string): Promise<T[]>
  /** Joins tables in the written order, so that DuckDB streams the first table. */
  rowsInOrder<T = SqlRow>(sql: string): Promise<T[]>
}

export const onlyRow = async <T>(sql: Pick<Sql, 'rows'>, query: string): Promise<T> =>
  (await sql.rows<T>(query))[0] as T

/** Returns the number of rows of a FROM clause. Example: `countOf(sql, 'tidemark.loads WHERE rejected > 0')`. */
export const countOf = async (sql: Pick<Sql, 'rows'>, from: string): Promise<number> =>
  (await onlyRow<{ rows: number }>(sql, `SELECT count(*) AS rows FROM ${from}`)).rows

export type WithNulls<T> = { readonly [Column in keyof T]: T[Column] | null }

export const withoutNulls = <T extends object>(row: WithNulls<T>): T =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, value ?? undefined])) as T

export const name = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`

/** Returns a string literal. Replaces NUL characters, because they would end the statement. */
export const text = (value: string): string => {
  const quoted = `'${value.replaceAll("'", "''")}'`
  return quoted.includes('\0') ? `(${quoted.replaceAll('\0', `' || chr(0) || '`)})` : quoted
}

type Named = string | { readonly name: string }

const quoted = (named: Named, alias?: string): string =>
  (alias === undefined ? '' : `${alias}.`) + name(typeof named === 'string' ? named : named.name)

/** Returns quoted names. Example with the alias `s`: `s."event_id", s."name"`. */
export const names = (columns: readonly Named[], alias?: string): string =>
  columns.map((each) => quoted(each, alias)).join(', ')

/** Returns SQL that compares columns. Example: `t."event_id" = s."event_id"`. */
export const sameSql = (columns: readonly Named[], one: string, other: string): string =>
  columns.map((each) => `${quoted(each, one)} = ${quoted(each, other)}`).join(' AND ')

export const pointer = (member: string): string => text(`/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`)

export const time = (micros: number): string => `make_timestamptz(${micros})`

export const orNull = <T>(value: T | undefined, sqlOf: (value: T) => string): string =>
  value === undefined ? 'NULL' : sqlOf(value)

/** Returns SQL that formats a TIMESTAMPTZ. Example: `2026-01-31T12:00:00.000000Z`. */
export const iso = (column: string): string => `strftime((${column}) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')`
