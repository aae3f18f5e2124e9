/** Describes rows for other programs, as TypeScript interfaces and JSON schemas. */
import type { BookTable, ColumnEntry } from './dictionary.ts'
import { reports } from './index.ts'
import { tableOf } from './tables.ts'

export interface RowTable extends BookTable {
  readonly schema: string
  readonly columns: readonly (ColumnEntry & { readonly nullable: boolean })[]
}

interface ValueType {
  /** The type that `getRowObjectsJS()` of `@duckdb/node-api` returns. */
  readonly typescript: string
  /** The type that `tidemark query --format json` prints. */
  readonly json: { readonly type?: string; readonly format?: string }
}

const INTEGER = { type: 'integer' }
const NUMBER = { typescript: 'number', json: { type: 'number' } }

const VALUE_TYPES: Readonly<Record<string, ValueType>> = {
  BIGINT: { typescript: 'bigint', json: INTEGER },
  HUGEINT: { typescript: 'bigint', json: INTEGER },
  UBIGINT: { typescript: 'bigint', json: INTEGER },
  INTEGER: { typescript: 'number', json: INTEGER },
  DECIMAL: NUMBER,
  DOUBLE: NUMBER,
  BOOLEAN: { typescript: 'boolean', json: { type: 'boolean' } },
  VARCHAR: { typescript: 'string', json: { type: 'string' } },
  TIMESTAMPTZ: { typescript: 'Date', json: { type: 'string', format: 'date-time' } },
  INTERVAL: { typescript: 'unknown', json: { type: 'string' } },
  // Any type, because `query --format json` prints the JSON value itself.
  JSON: { typescript: 'string', json: {} },
}

const ANY_VALUE: ValueType = { typescript: 'unknown', json: {} }

const valueTypeOf = (type: string): ValueType => VALUE_TYPES[type.replace(/\(.*\)$/, '')] ?? ANY_VALUE

/** Keys are never NULL, although DuckDB has no constraint for them. */
const isKey = (table: string, column: string): boolean =>
  reports
    .map(tableOf)
    .some(({ name, key, children }) =>
      name === table
        ? key.includes(column)
        : children.some((child) => child.name === table) && [...key, '_child_key'].includes(column),
    )

const mayBeNull = (table: RowTable, { name, nullable }: RowTable['columns'][number]): boolean =>
  nullable && (table.schema === 'tidemark' || !isKey(table.name, name))

/** Returns one interface for each table, and `Database` for query builders such as Kysely. */
export function typescriptOf(tables: readonly RowTable[]): string {
  const members = tables.map((table) => `  '${qualified(table)}': ${interfaceName(table)}\n`)
  return `/** Made by "tidemark schema --format typescript": rows as getRowObjectsJS() of @duckdb/node-api returns them. */
${tables.map(interfaceOf).join('\n')}
export interface Database {
${members.join('')}}
`
}

function interfaceOf(table: RowTable): string {
  const members = table.columns.map((column) => {
    const { name, type, comment } = column
    const { typescript } = valueTypeOf(type)
    const property = /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name)
    return `${docOf(comment, '  ')}  ${property}: ${typescript}${typescript !== 'unknown' && mayBeNull(table, column) ? ' | null' : ''}\n`
  })
  return `${docOf(table.comment, '')}export interface ${interfaceName(table)} {\n${members.join('')}}\n`
}

const docOf = (comment: string, indent: string): string =>
  comment === '' ? '' : `${indent}/** ${comment.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */\n`

const qualified = ({ schema, name }: RowTable): string => (schema === 'main' ? name : `${schema}.${name}`)

const interfaceName = (table: RowTable): string =>
  qualified(table).replaceAll(/(?:^|[^a-z0-9]+)([a-z0-9])/gi, (_, first: string) => first.toUpperCase())

/** Returns a JSON Schema (2020-12) that defines the rows of each table. */
export const jsonSchemaOf = (tables: readonly RowTable[]): object => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  description: 'Made by "tidemark schema --format json-schema": rows as "tidemark query --format json" prints them',
  $defs: Object.fromEntries(tables.map((table) => [qualified(table), rowSchemaOf(table)])),
})

const rowSchemaOf = (table: RowTable): object => ({
  type: 'object',
  ...(table.comment !== '' && { description: table.comment }),
  properties: Object.fromEntries(
    table.columns.map((column) => [column.name, valueSchemaOf(column, mayBeNull(table, column))]),
  ),
  required: table.columns.map(({ name }) => name),
  additionalProperties: false,
})

function valueSchemaOf({ type, comment }: ColumnEntry, isNullable: boolean): object {
  const { json } = valueTypeOf(type)
  const typed = json.type !== undefined && isNullable ? { ...json, type: [json.type, 'null'] } : json
  return comment === '' ? typed : { ...typed, description: comment }
}
