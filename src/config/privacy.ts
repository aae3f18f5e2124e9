/** Checks column rules (`hash`, `drop`, `keep`). Some columns must stay as they are: the warehouse needs them. */
import { reportOf, type Declaration, type ReportName } from '../../schema/index.ts'
import { SYSTEM_COLUMNS, snakeCase, tableOf } from '../../schema/tables.ts'
import type { Problem, WhereOf } from './problems.ts'
import type { RawConfig } from './raw.ts'

/** Returns a problem for each rule that its report does not allow. */
export function columnProblems(raw: Pick<RawConfig, 'reports'>, whereOf: WhereOf): Problem[] {
  return Object.entries(raw.reports).flatMap(([name, own]) =>
    Object.entries(own?.columns ?? {}).flatMap(([column, rule]) => {
      const problem = rule === 'keep' ? undefined : columnProblem(reportOf(name as ReportName), column, rule)
      return problem === undefined ? [] : [{ where: whereOf(['reports', name, 'columns', column]), problem }]
    }),
  )
}

function columnProblem(report: Declaration, column: string, rule: 'hash' | 'drop'): string | undefined {
  const [first = '', second, ...more] = column.split('.')
  const own = second ?? first
  if (more.length > 0 || own !== snakeCase(own) || own === '')
    return `must be a column, or collection.column, named as in the tables (${column.split('.').map(snakeCase).join('.')}?)`
  if (SYSTEM_COLUMNS.some(({ name }) => name === own)) return `${own} is Tidemark's own column`
  const collections = tableOf(report).children.map(({ name }) => name.slice(report.name.length + 2))
  if (second === undefined)
    return rowColumnProblem(report, { column, rule, isCollection: collections.includes(column) })
  if (!collections.includes(first)) {
    const known = collections.length === 0 ? 'it has none' : `it has ${collections.join(', ')}`
    return `${first} is no collection of ${report.name}: ${known}`
  }
  return second === 'id' && rule === 'drop' ? `id identifies the items of ${first}: hash it instead` : undefined
}

interface ColumnRule {
  readonly column: string
  readonly rule: 'hash' | 'drop'
  readonly isCollection: boolean
}

function rowColumnProblem(report: Declaration, { column, rule, isCollection }: ColumnRule): string | undefined {
  if (report.key.includes(column)) return `${column} is part of the key of ${report.name}: it has to be kept`
  const table = tableOf(report)
  const field = [...table.asked, ...table.fields].find(({ name }) => name === column)
  const isStamp = report.newerBy.includes(column) || (report.perRecord !== undefined && column === 'timestamp')
  if (isStamp) return `${column} decides which version is newer: it has to be kept`
  if (rule === 'drop') return undefined
  if (isCollection && field === undefined)
    return `${column} is a collection: drop it, or hash its columns (${column}.…)`
  const isText = field === undefined || field.type === 'VARCHAR' || field.type === 'JSON'
  return isText ? undefined : `${column} is ${field.type} and can't be hashed: drop it`
}
