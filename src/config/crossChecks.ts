/** Makes the checks that the schema cannot make: required settings, and settings that exclude each other. */
import { reportNames, reportOf, type Declaration, type ReportName } from '../../schema/index.ts'
import { lakeAddress, serveAddress } from './checks.ts'
import { type Environment, REPORTS, reportsInEnvironment, SERVE_TOKEN, variableOf } from './environment.ts'
import { pathText, valueAt, type Problem, type WhereOf } from './problems.ts'
import type { RawConfig } from './raw.ts'
import { filesOf } from './resolve.ts'
import { hint } from './suggest.ts'
import { SYSTEM_COLUMNS, snakeCase, tableOf } from '../../schema/tables.ts'

const REQUIRED = [
  ['service', 'base_url'],
  ['service', 'client_id'],
] as const

export const missingSettings = (value: unknown, whereOf: WhereOf): readonly Problem[] =>
  REQUIRED.filter((required) => valueAt(value, required) === undefined).map((required) => ({
    where: whereOf(required),
    problem: `${pathText(required)} is missing: set it, or ${variableOf(required)}`,
  }))

export const unknownReports = (env: Environment): readonly Problem[] =>
  (reportsInEnvironment(env) ?? [])
    .filter((name) => !reportNames.some((known) => known === name))
    .map((name) => ({ where: REPORTS, problem: `there is no report "${name}"${hint(name, reportNames)}` }))

/** If other machines can connect, they could guess a shorter token. */
const TOKEN_CHARS_MIN = 16
/** DuckDB's extension requires this length even if only this machine can connect. */
const LOOPBACK_TOKEN_CHARS_MIN = 4

/** Checks `serve`, which needs DuckDB's extensions and a long token. */
export function servingProblems(raw: RawConfig, env: Environment, whereOf: WhereOf): readonly Problem[] {
  const address = raw.serve === undefined ? undefined : serveAddress(raw.serve)
  if (address === undefined) return []
  const where = whereOf(['serve'])
  const problems: Problem[] = []
  if (raw.extensions === undefined) problems.push({ where, problem: `serve ${needsExtensions('quack and httpfs')}` })
  const token = env[SERVE_TOKEN]
  if (address.isLoopback && token !== undefined && token.length < LOOPBACK_TOKEN_CHARS_MIN)
    problems.push({ where: SERVE_TOKEN, problem: `must have at least ${LOOPBACK_TOKEN_CHARS_MIN} characters` })
  if (!address.isLoopback && (token?.length ?? 0) < TOKEN_CHARS_MIN) {
    const problem = `serve beyond this machine needs a token: set ${SERVE_TOKEN} to at least ${TOKEN_CHARS_MIN} characters; "openssl rand -hex 32" makes one`
    problems.push({ where, problem })
  }
  return problems
}

export function lakeProblems(raw: RawConfig, whereOf: WhereOf): readonly Problem[] {
  const lake = lakeAddress(raw.warehouse)
  const problemOf = (key: string, problem: string): Problem => ({ where: whereOf([key]), problem: `${key} ${problem}` })
  if (lake === undefined)
    return raw.lake_data === undefined ? [] : [problemOf('lake_data', 'is for a lake (warehouse: ducklake:…)')]
  const problems: Problem[] = []
  const scanner = lake.catalogue === 'sqlite' ? 'sqlite_scanner' : 'postgres_scanner'
  if (raw.extensions === undefined) problems.push(problemOf('warehouse', needsExtensions(`ducklake and ${scanner}`)))
  if (lake.catalogue === 'postgres' && raw.lake_data === undefined)
    problems.push(problemOf('lake_data', 'is missing: a lake in PostgreSQL needs a directory for its files'))
  if (raw.serve !== undefined)
    problems.push(problemOf('serve', 'serves a published copy; readers attach a lake themselves'))
  if (raw.queue !== 'embedded')
    problems.push(problemOf('queue', 'must be embedded: each worker that loads into a lake has a queue of its own'))
  return problems
}

const needsExtensions = (names: string): string =>
  `needs DuckDB's ${names}: set extensions (TIDEMARK_EXTENSIONS) to a directory with these files; docs/LIVE-SERVER.md shows where to get them`

/** Rejects a published copy at the path of the warehouse, because a publication would overwrite the warehouse. */
export function clashingFiles(raw: RawConfig, folder: string, whereOf: WhereOf): readonly Problem[] {
  const { warehouse, published } = filesOf(raw, folder)
  if (warehouse !== published) return []
  return [{ where: whereOf(['published']), problem: 'published must be another file than warehouse' }]
}

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

function rowColumnProblem(
  report: Declaration,
  { column, rule, isCollection }: { column: string; rule: 'hash' | 'drop'; isCollection: boolean },
): string | undefined {
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
