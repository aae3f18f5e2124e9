/**
 * Settings about what of the rows is kept in clear: which columns a report can name, which of them carry more than a
 * value and so can't be taken away, and the key that hashes are made with.
 */
import path from 'node:path'
import { reportOf, type Declaration, type ReportName } from '../../schema/index.ts'
import { SYSTEM_COLUMNS, snakeCase, tableOf } from '../../schema/tables.ts'
import { Secret } from '../secret.ts'
import { HASH_KEY, HASH_KEY_FILE } from './environment.ts'
import type { Path, Problem } from './problems.ts'
import type { RawConfig } from './raw.ts'
import { readSecret, type Sources } from './sources.ts'

/** A shorter key could be found by trying. */
const KEY_CHARS_MIN = 16

type WhereOf = (path: Path) => string

/** Every rule that a report can't have. */
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
  if (second === undefined) return ownProblem(report, { column, rule, isCollection: collections.includes(column) })
  if (!collections.includes(first)) {
    const known = collections.length === 0 ? 'it has none' : `it has ${collections.join(', ')}`
    return `${first} is no collection of ${report.name}: ${known}`
  }
  return second === 'id' && rule === 'drop' ? `id tells the items of ${first} apart: hash it instead` : undefined
}

interface Ruled {
  readonly column: string
  readonly rule: 'hash' | 'drop'
  readonly isCollection: boolean
}

function ownProblem(report: Declaration, { column, rule, isCollection }: Ruled): string | undefined {
  if (report.key.includes(column)) return `${column} is part of the key of ${report.name}: it has to be kept`
  const table = tableOf(report)
  const field = [...table.asked, ...table.fields].find(({ name }) => name === column)
  const isStamp = report.newerBy.includes(column) || (report.perRecord !== undefined && column === 'timestamp')
  if (isStamp) return `${column} says which version is newer: it has to be kept`
  if (rule === 'drop') return undefined
  if (isCollection && field === undefined)
    return `${column} is a collection: drop it, or hash its columns (${column}.…)`
  const holdsText = field === undefined || field.type === 'VARCHAR' || field.type === 'JSON'
  return holdsText ? undefined : `${column} is ${field.type} and can't hold a hash: drop it`
}

/** The key that hashes are made with; undefined when no report hashes and none is given. */
export async function hashKeyOf(
  raw: RawConfig,
  { env, folder }: Sources,
  whereOf: WhereOf,
): Promise<Secret | undefined | Problem> {
  const direct = env[HASH_KEY]
  if (direct !== undefined && env[HASH_KEY_FILE] !== undefined) {
    return { where: HASH_KEY, problem: `${HASH_KEY_FILE} is set too: keep one of the two` }
  }
  const where = direct === undefined ? whereOf(['hash_key_file']) : HASH_KEY
  const key =
    direct === undefined
      ? raw.hash_key_file && (await readSecret(path.resolve(folder, raw.hash_key_file), where, 'hash key'))
      : new Secret(direct)
  if (key instanceof Secret) {
    return key.reveal().length < KEY_CHARS_MIN
      ? {
          where,
          problem: `the hash key must have at least ${KEY_CHARS_MIN} characters; "openssl rand -hex 32" makes one`,
        }
      : key
  }
  return key === undefined || key === '' ? hashKeyMissing(raw, whereOf) : key
}

function hashKeyMissing({ reports }: RawConfig, whereOf: WhereOf): Problem | undefined {
  for (const [name, own] of Object.entries(reports)) {
    const hashed = Object.entries(own?.columns ?? {}).find(([, rule]) => rule === 'hash')
    if (hashed !== undefined) {
      const problem = `hash needs a key: set ${HASH_KEY}, ${HASH_KEY_FILE} or hash_key_file`
      return { where: whereOf(['reports', name, 'columns', hashed[0]]), problem }
    }
  }
  return undefined
}
