/** A catalogue as SQL: statements that make the same tables, views and comments, empty, in another database. */
import type { HeldTable } from '../database/catalogue.ts'
import { name, text } from '../database/sqlText.ts'

export function definitionSql(catalogue: readonly HeldTable[]): string {
  const schemas = [...new Set(catalogue.map(({ schema }) => schema))].filter((schema) => schema !== 'main')
  return [
    ...schemas.map((schema) => `CREATE SCHEMA IF NOT EXISTS ${name(schema)};`),
    ...catalogue.map((table) => `\n${tableSql(table)}`),
    '',
  ].join('\n')
}

function tableSql(table: HeldTable): string {
  const target = `${name(table.schema)}.${name(table.name)}`
  const kind = table.view === undefined ? 'TABLE' : 'VIEW'
  const definition = table.view === undefined ? createSql(target, table) : table.view.trim()
  const comments = table.columns
    .filter(({ comment }) => comment !== '')
    .map((column) => `COMMENT ON COLUMN ${target}.${name(column.name)} IS ${text(column.comment)};`)
  const own = table.comment === '' ? [] : [`COMMENT ON ${kind} ${target} IS ${text(table.comment)};`]
  return [definition, ...own, ...comments].join('\n')
}

function createSql(target: string, { columns }: HeldTable): string {
  const lines = columns.map(
    ({ name: column, type, nullable }) => `  ${name(column)} ${type}${nullable ? '' : ' NOT NULL'}`,
  )
  return `CREATE TABLE ${target} (\n${lines.join(',\n')}\n);`
}
