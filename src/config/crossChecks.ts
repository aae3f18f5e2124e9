/** Checks what the schema can't check: required settings, and settings that can't be combined. */
import { parse } from 'node:path'
import { reportNames, reportOf, type Declaration, type ReportName } from '../../schema/index.ts'
import { isStorage, lakeAddress, serveAddress } from './checks.ts'
import { type Environment, REPORTS, reportsInEnvironment, SERVE_TOKEN, variableOf } from './environment.ts'
import { pathText, valueAt, type Finding } from './problems.ts'
import type { RawConfig } from './raw.ts'
import { filesOf } from './resolve.ts'
import type { Sources } from './sources.ts'
import { reportHint } from './suggest.ts'
import { SYSTEM_COLUMNS, snakeCase, tableOf } from '../../schema/tables.ts'

/** Finds missing settings and unknown reports, even in a file that the schema rejects. */
export function* missingSettings(value: unknown, env: Environment): Generator<Finding> {
  for (const at of [
    ['service', 'base_url'],
    ['service', 'client_id'],
  ])
    if (valueAt(value, at) === undefined)
      yield { at, problem: `${pathText(at)} is missing: set it, or ${variableOf(at)}` }
  for (const name of reportsInEnvironment(env) ?? [])
    if (!reportNames.some((known) => known === name))
      yield { at: REPORTS, problem: `there is no report "${name}"${reportHint(name, reportNames)}` }
}

/** Finds conflicting settings. For `tidemark move` (`isMove`), the setting `warehouse` is the new file. */
export function* clashingSettings(raw: RawConfig, { env, folder }: Sources, isMove: boolean): Generator<Finding> {
  const { warehouse, published } = filesOf(raw, folder)
  // A publication would overwrite the warehouse.
  if (warehouse === published && !isMove)
    yield { at: ['published'], problem: 'published must be another file than warehouse' }
  if (warehouse === published && isMove)
    yield { at: ['warehouse'], problem: 'is where the published copy would be: name a file that does not exist yet' }
  for (const [key, file] of lakeAddress(raw.warehouse) ? [] : Object.entries({ warehouse, published }))
    if (/^(changes|current|history|tidemark)$/i.test(parse(file).name))
      yield problemOf(key, 'has the name of a schema, which DuckDB could not tell from the file: choose another name')
  yield* columnProblems(raw)
  yield* servingProblems(raw, env)
  yield* lakeProblems(raw)
}

/** Other machines could guess a shorter token. */
const TOKEN_CHARS_MIN = 16
/** DuckDB's extension `quack` requires a token of at least this length. */
const LOOPBACK_TOKEN_CHARS_MIN = 4

function* servingProblems(raw: RawConfig, env: Environment): Generator<Finding> {
  const address = raw.serve === undefined ? undefined : serveAddress(raw.serve)
  if (address === undefined) return
  const at = ['serve']
  if (raw.extensions === undefined) yield { at, problem: `serve ${needsExtensions('quack and httpfs')}` }
  const token = env[SERVE_TOKEN]
  if (address.isLoopback && token !== undefined && token.length < LOOPBACK_TOKEN_CHARS_MIN)
    yield { at: SERVE_TOKEN, problem: `must have at least ${LOOPBACK_TOKEN_CHARS_MIN} characters` }
  if (!address.isLoopback && (token?.length ?? 0) < TOKEN_CHARS_MIN) {
    const problem = `serve beyond this machine needs a token: set ${SERVE_TOKEN} to at least ${TOKEN_CHARS_MIN} characters; "openssl rand -hex 32" makes one`
    yield { at, problem }
  }
}

function* lakeProblems(raw: RawConfig): Generator<Finding> {
  for (const key of ['lake_endpoint', 'lake_region', 'lake_url_style'] as const)
    if (raw[key] !== undefined && !isStorage(raw.lake_data))
      yield problemOf(key, 'is for object storage: set lake_data to s3://BUCKET/PATH, or take it away')
  const lake = lakeAddress(raw.warehouse)
  if (lake === undefined) {
    if (raw.lake_data !== undefined) yield problemOf('lake_data', 'is for a lake (warehouse: ducklake:…)')
    return
  }
  const names = `${isStorage(raw.lake_data) ? 'httpfs, ' : ''}ducklake and ${lake.catalogue}_scanner`
  if (raw.extensions === undefined) yield problemOf('warehouse', needsExtensions(names))
  if (lake.catalogue === 'postgres' && raw.lake_data === undefined)
    yield problemOf('lake_data', 'is missing: a lake in PostgreSQL needs a directory for its files')
  if (raw.serve !== undefined) yield problemOf('serve', 'serves a published copy; readers attach a lake themselves')
  if (lake.catalogue === 'sqlite' && raw.queue !== 'embedded')
    yield problemOf('queue', 'must be embedded: only a lake in PostgreSQL takes several workers, which share a queue')
}

const problemOf = (key: string, problem: string): Finding => ({ at: [key], problem: `${key} ${problem}` })

/** DuckDB loads only extensions that were built for exactly this version. */
export const DUCKDB_VERSION = '1.5.5'

const needsExtensions = (names: string): string =>
  `needs DuckDB's ${names}: set extensions (TIDEMARK_EXTENSIONS) to a directory with these files for DuckDB ${DUCKDB_VERSION}; docs/LIVE-SERVER.md shows where to get them`

function* columnProblems({ reports }: RawConfig): Generator<Finding> {
  for (const [name, own] of Object.entries(reports))
    for (const [column, rule] of Object.entries(own?.columns ?? {})) {
      const problem = rule === 'keep' ? undefined : columnProblem(reportOf(name as ReportName), column, rule)
      if (problem !== undefined) yield { at: ['reports', name, 'columns', column], problem }
    }
}

/** Returns why the rule cannot apply to a column. `path` is `column` or `collection.column`. */
function columnProblem(report: Declaration, path: string, rule: 'hash' | 'drop'): string | undefined {
  const names = path.split('.')
  const column = names.at(-1) ?? ''
  if (names.length > 2 || column !== snakeCase(column) || column === '')
    return `must be a column, or collection.column, named as in the tables (${names.map(snakeCase).join('.')}?)`
  if (SYSTEM_COLUMNS.some(({ name }) => name === column)) return `${column} is Tidemark's own column`
  if (names.length === 1) return rowColumnProblem(report, column, rule)
  const collections = tableOf(report).children.map(({ name }) => name.slice(report.name.length + 2))
  const [collection = ''] = names
  if (!collections.includes(collection))
    return `${collection} is no collection of ${report.name}: it has ${collections.join(', ') || 'none'}`
  return column === 'id' && rule === 'drop' ? `id identifies the items of ${collection}: hash it instead` : undefined
}

function rowColumnProblem(report: Declaration, column: string, rule: 'hash' | 'drop'): string | undefined {
  if (report.key.includes(column)) return `${column} is part of the key of ${report.name}: it has to be kept`
  if (report.newerBy.includes(column) || (report.perRecord !== undefined && column === 'timestamp'))
    return `${column} decides which version is newer: it has to be kept`
  if (rule === 'drop') return undefined
  const { asked, fields, children } = tableOf(report)
  if (children.some(({ name }) => name === `${report.name}__${column}`))
    return `${column} is a collection: drop it, or hash its columns (${column}.…)`
  const type = [...asked, ...fields].find(({ name }) => name === column)?.type ?? 'JSON'
  return type === 'VARCHAR' || type === 'JSON' ? undefined : `${column} is ${type} and can't be hashed: drop it`
}
