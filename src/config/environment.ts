/** Defines the environment variables that override settings of the configuration file. */
import { isDeepStrictEqual } from 'node:util'
import type { Path } from './problems.ts'
import { nearest } from './suggest.ts'

interface Variable {
  readonly name: string
  readonly path: readonly string[]
  readonly as?: 'integer' | 'list'
}

export const variables: readonly Variable[] = [
  { name: 'REPORTING_BASE_URL', path: ['service', 'base_url'] },
  { name: 'REPORTING_CLIENT_ID', path: ['service', 'client_id'] },
  { name: 'REPORTING_CLIENT_SECRET_FILE', path: ['service', 'client_secret_file'] },
  { name: 'REPORTING_SCOPES', path: ['service', 'scopes'], as: 'list' },
  { name: 'TIDEMARK_WAREHOUSE', path: ['warehouse'] },
  { name: 'TIDEMARK_PUBLISHED', path: ['published'] },
  { name: 'TIDEMARK_LAKE_DATA', path: ['lake_data'] },
  { name: 'TIDEMARK_LAKE_ENDPOINT', path: ['lake_endpoint'] },
  { name: 'TIDEMARK_LAKE_REGION', path: ['lake_region'] },
  { name: 'TIDEMARK_LAKE_SNAPSHOTS', path: ['lake_snapshots'] },
  { name: 'TIDEMARK_SERVE', path: ['serve'] },
  { name: 'TIDEMARK_EXTENSIONS', path: ['extensions'] },
  { name: 'TIDEMARK_QUEUE_URL', path: ['queue'] },
  { name: 'TIDEMARK_CONSOLE_HOST', path: ['console', 'host'] },
  { name: 'TIDEMARK_CONSOLE_PORT', path: ['console', 'port'], as: 'integer' },
  { name: 'TIDEMARK_CONSOLE_PROXIES', path: ['console', 'proxies'], as: 'list' },
  { name: 'TIDEMARK_HISTORY', path: ['history'] },
  { name: 'TIDEMARK_REJECTED_KEEP', path: ['rejected_keep'] },
  { name: 'TIDEMARK_HASH_KEY_FILE', path: ['hash_key_file'] },
  { name: 'TIDEMARK_NOTIFY_WEBHOOK', path: ['notify', 'webhook'] },
  { name: 'TIDEMARK_NOTIFY_SECRET_FILE', path: ['notify', 'secret_file'] },
  { name: 'TIDEMARK_NOTIFY_LAG', path: ['notify', 'lag'] },
  { name: 'TIDEMARK_CURRENCIES', path: ['currencies'], as: 'list' },
  { name: 'TIDEMARK_REPORTS_FROM', path: ['reports_from'], as: 'list' },
  { name: 'TIDEMARK_EVERY', path: ['defaults', 'every'] },
  { name: 'TIDEMARK_TIME_ZONE', path: ['defaults', 'time_zone'] },
  { name: 'TIDEMARK_RECONCILE_EVERY', path: ['defaults', 'reconcile_every'] },
  { name: 'TIDEMARK_DELETES_EVERY', path: ['defaults', 'deletes_every'] },
  { name: 'TIDEMARK_PAGE_SIZE', path: ['defaults', 'page_size'], as: 'integer' },
  { name: 'TIDEMARK_OVERLAP', path: ['defaults', 'overlap'] },
  { name: 'TIDEMARK_SETTLE', path: ['defaults', 'settle'] },
  { name: 'TIDEMARK_START', path: ['defaults', 'start'] },
  { name: 'TIDEMARK_SCHEMA_CONTRACT', path: ['defaults', 'schema_contract'] },
]

export const CLIENT_SECRET = 'REPORTING_CLIENT_SECRET'
export const HASH_KEY = 'TIDEMARK_HASH_KEY'
/** These names have no prefix, because other S3 programs use the same variables. */
export const STORAGE_KEYS = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const
export const NOTIFY_SECRET = 'TIDEMARK_NOTIFY_SECRET'
/** Each receiver of messages has its own secret. Example: `TIDEMARK_NOTIFY_PIPELINE_SECRET` for the receiver `pipeline`. */
const isReceiverSecret = (name: string): boolean => /^TIDEMARK_NOTIFY_[A-Z0-9_]+_SECRET(?:_FILE)?$/.test(name)
/** Returns the variable of a receiver's secret. The receiver `notify.webhook` has no name. */
export const receiverSecretVariable = (name: string | undefined): string =>
  name === undefined ? NOTIFY_SECRET : `TIDEMARK_NOTIFY_${name.toUpperCase()}_SECRET`
export const CONSOLE_TOKEN = 'TIDEMARK_CONSOLE_TOKEN'
export const CONSOLE_VIEW_TOKEN = 'TIDEMARK_CONSOLE_VIEW_TOKEN'
export const SERVE_TOKEN = 'TIDEMARK_SERVE_TOKEN'
export const REPORTS = 'TIDEMARK_REPORTS'
/** The check for misspelt names accepts these variables, which are not settings. */
const OTHERS = ['TIDEMARK_CONFIG', 'TIDEMARK_LOG_LEVEL', 'TIDEMARK_LAUNCHED']

export type Environment = Readonly<Record<string, string>>

/** Returns the variable that sets the key at `path`, if there is one. */
export const variableOf = (path: Path): string | undefined =>
  variables.find((variable) => variable.path.join('.') === path.join('.'))?.name

/** Options that replace settings, like `{ warehouse: ['--to', './new.duckdb'] }`. The value undefined removes one. */
export type Override = Readonly<Record<string, readonly [option: string, value: string | undefined]>>

/** Merges settings: options win over environment variables, which win over the file. */
export function withEnvironment(fileValue: unknown, env: Environment, override: Override = {}) {
  const applied = variables.filter(({ name }) => env[name] !== undefined)
  const whole = applied.reduce<unknown>(
    (whole, variable) => withValueAt(whole, variable.path, valueOf(variable, env)),
    fileValue ?? {},
  )
  const replaced = Object.fromEntries(Object.entries(override).map(([key, [, value]]) => [key, value]))
  /** Returns the option or variable that sets `path`. Example: `TIDEMARK_CURRENCIES` for `['currencies', 0]`. */
  const variableAt = (path: Path) =>
    override[`${path[0]}`]?.[0] ??
    applied.find((variable) => variable.path.every((step, index) => path[index] === step))?.name
  return { value: isMap(whole) ? { ...whole, ...replaced } : whole, variableAt }
}

export const listOf = (text: string): readonly string[] => text.split(/[\s,]+/).filter((item) => item !== '')

export const reportsInEnvironment = (env: Environment): readonly string[] | undefined =>
  env[REPORTS] === undefined ? undefined : listOf(env[REPORTS])

/** A malformed integer stays text, which the schema rejects. */
function valueOf({ name, as }: Variable, env: Environment): unknown {
  const text = env[name] ?? ''
  if (as === 'list') return listOf(text)
  return as === 'integer' && /^\d{1,15}$/.test(text) ? Number(text) : text
}

/** A section that is not a map stays unchanged, so that the schema rejects it. */
function withValueAt(whole: unknown, path: readonly string[], value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (whole !== undefined && !isMap(whole)) return whole
  return { ...whole, [step]: withValueAt(whole?.[step], rest, value) }
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Converts `warehouse: { lake: …, data: … }` to `warehouse` and `lake_data`. */
export function flatSettings(value: unknown): unknown {
  if (!isMap(value) || !isMap(value['warehouse'])) return value
  const { lake, ...others } = value['warehouse']
  // If both `warehouse.data` and `lake_data` are set, the schema rejects `warehouse.data` as an unknown key.
  const nameOf = (key: string) => `${`lake_${key}` in value ? 'warehouse.' : 'lake_'}${key}`
  const ofLake = Object.fromEntries(Object.entries(others).map(([key, set]) => [nameOf(key), set]))
  const warehouse = typeof lake === 'string' && /^postgres(?:ql)?:/.test(lake) ? `ducklake:postgres:${lake}` : lake
  return { ...value, ...ofLake, warehouse }
}

export function differingKeys(before: unknown, now: unknown, path: Path = []): readonly string[] {
  if (isDeepStrictEqual(before, now)) return []
  if (!isMap(before) || !isMap(now)) return [path.join('.')]
  const keys = new Set([...Object.keys(before), ...Object.keys(now)])
  return [...keys].flatMap((key) => differingKeys(before[key], now[key], [...path, key]))
}

const MORE = [CLIENT_SECRET, HASH_KEY, NOTIFY_SECRET, CONSOLE_TOKEN, CONSOLE_VIEW_TOKEN, SERVE_TOKEN, REPORTS]
const NAMES: readonly string[] = [...variables.map(({ name }) => name), ...MORE]

export const variablesInEffect = (env: Environment): Environment =>
  Object.fromEntries(Object.entries(env).filter(([name]) => NAMES.includes(name) || isReceiverSecret(name)))

/** Returns variables whose names resemble one of Tidemark's variables. */
export function misspellings(env: Environment) {
  const known = [...NAMES, ...OTHERS]
  return Object.keys(env).flatMap((name) => {
    const prefix = /^(?:TIDEMARK|REPORTING)_/.exec(name)?.[0]
    if (prefix === undefined || known.includes(name) || isReceiverSecret(name)) return []
    const own = known.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length))
    const near = nearest(name.slice(prefix.length), own)
    return near === undefined ? [] : [{ name, meant: `${prefix}${near}` }]
  })
}
