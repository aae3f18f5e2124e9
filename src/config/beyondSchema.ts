/** What a schema of the file cannot check: settings that may come from elsewhere, the secret, and files that clash. */
import path from 'node:path'
import { reportNames } from '../../schema/index.ts'
import { Secret } from '../secret.ts'
import { lakeAddress, serveAddress } from './checks.ts'
import {
  CLIENT_SECRET,
  CLIENT_SECRET_FILE,
  type Environment,
  listOf,
  REPORTS,
  SERVE_TOKEN,
  variableOf,
} from './environment.ts'
import { pathText, type Path, type Problem } from './problems.ts'
import type { RawConfig } from './raw.ts'
import { filesOf } from './resolve.ts'
import { readSecret, type Sources } from './sources.ts'
import { hint } from './suggest.ts'

export type WhereOf = (path: Path) => string

const REQUIRED = [
  ['service', 'base_url'],
  ['service', 'client_id'],
] as const

/** Settings without a default that stand nowhere. One that is there but wrong is the schema's to refuse. */
export function missing(value: unknown, whereOf: WhereOf): readonly Problem[] {
  return REQUIRED.filter((required) => valueAt(value, required) === undefined).map((required) => ({
    where: whereOf(required),
    problem: `${pathText(required)} is missing: set it, or ${variableOf(required)}`,
  }))
}

export async function clientSecretOf(
  value: unknown,
  { env, folder }: Sources,
  whereOf: WhereOf,
): Promise<Secret | Problem> {
  const direct = env[CLIENT_SECRET]
  if (direct !== undefined && env[CLIENT_SECRET_FILE] !== undefined) {
    return { where: CLIENT_SECRET, problem: `${CLIENT_SECRET_FILE} is set too: keep one of the two` }
  }
  if (direct !== undefined) return new Secret(direct)
  const setting = ['service', 'client_secret_file']
  const file = valueAt(value, setting)
  if (typeof file === 'string' && file !== '') return readSecret(path.resolve(folder, file), whereOf(setting))
  const problem = `the client secret is missing: set ${CLIENT_SECRET}, ${CLIENT_SECRET_FILE} or service.client_secret_file`
  return { where: CLIENT_SECRET, problem }
}

/** The reports that TIDEMARK_REPORTS leaves on; undefined when it is not set. */
export const onlyReportsOf = (env: Environment): readonly string[] | undefined =>
  env[REPORTS] === undefined ? undefined : listOf(env[REPORTS])

export const unknownReports = (names: readonly string[]): readonly Problem[] =>
  names
    .filter((name) => !reportNames.some((known) => known === name))
    .map((name) => ({ where: REPORTS, problem: `there is no report "${name}"${hint(name, reportNames)}` }))

/** A token that anybody on the network may try has to be long. */
const TOKEN_CHARS_MIN = 16
/** What the extension takes; nobody but this machine can try it. */
const LOOPBACK_TOKEN_CHARS_MIN = 4

/** A server of DuckDB's needs its extensions, and a token that others can't guess. */
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

/** A lake has several writers and its readers come to it: what belongs to one file and its copy is not for it. */
export function lakeProblems(raw: RawConfig, whereOf: WhereOf): readonly Problem[] {
  const lake = lakeAddress(raw.warehouse)
  const told = (key: string, problem: string): Problem => ({ where: whereOf([key]), problem: `${key} ${problem}` })
  if (lake === undefined)
    return raw.lake_data === undefined ? [] : [told('lake_data', 'is for a lake (warehouse: ducklake:…)')]
  const problems: Problem[] = []
  const scanner = lake.catalogue === 'sqlite' ? 'sqlite_scanner' : 'postgres_scanner'
  if (raw.extensions === undefined) problems.push(told('warehouse', needsExtensions(`ducklake and ${scanner}`)))
  if (lake.catalogue === 'postgres' && raw.lake_data === undefined)
    problems.push(told('lake_data', 'is missing: a lake in PostgreSQL needs a directory for its files'))
  if (raw.serve !== undefined) problems.push(told('serve', 'serves a published copy; readers attach a lake themselves'))
  if (raw.queue !== 'embedded')
    problems.push(told('queue', 'must be embedded: each worker that loads into a lake has a queue of its own'))
  return problems
}

const needsExtensions = (names: string): string =>
  `needs DuckDB's ${names}: set extensions (TIDEMARK_EXTENSIONS) to a directory that holds them; docs/READING.md says how to get them`

/** Publishing replaces its file whole: on the warehouse itself that would lose it. */
export function clashingFiles(raw: RawConfig, folder: string, whereOf: WhereOf): readonly Problem[] {
  const { warehouse, published } = filesOf(raw, folder)
  if (warehouse !== published) return []
  return [{ where: whereOf(['published']), problem: 'published must be another file than warehouse' }]
}

function valueAt(value: unknown, steps: Path): unknown {
  return steps.reduce<unknown>(
    (inner, step) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[step] : undefined,
    value,
  )
}
