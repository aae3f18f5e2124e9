/** Checks individual settings. No message quotes an address, because an address can contain a password. */
import { isIP, isIPv4 } from 'node:net'
import { attempt } from '../errors.ts'
import { DAY_MS, parseInstant } from '../instant.ts'
import { cronProblem, isCron } from './cron.ts'
import { parseDuration } from '../units.ts'

const EVERY_MS_MIN = 1_000
/** Node's timers cannot wait longer than 2^31 ms (24.8 days). */
const EVERY_MS_MAX = 24 * DAY_MS
/** Limits all durations, so that times computed with them remain exact integers. */
const REACH_MS_MAX = 3_650 * DAY_MS

const DURATION_FORMS = 'such as 500ms, 30s, 5m, 2h or 1d'

export type Check = (text: string) => string | undefined

export const baseUrlProblem: Check = (text) => addressProblem(text, 'https://reports.example.com', /[?#]/.test(text))

/** Accepts an address with a query (`?…`), because many webhooks have one. */
export const webhookProblem: Check = (text) => addressProblem(text, 'https://hooks.example.com/tidemark')

/** Returns the bytes of a Standard Webhooks key, or undefined for other text. */
export function signingKey(secret: string): Buffer | undefined {
  const key = Buffer.from(/^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1] ?? '', 'base64')
  return key.length >= 24 && key.length <= 64 ? key : undefined
}

/** Checks the secret of each kind of receiver. For Slack, the secret is the webhook's address. */
export const RECEIVER_SECRETS = {
  plain: (key) =>
    signingKey(key)
      ? undefined
      : `must be whsec_ and a key in Base64; "echo whsec_$(openssl rand -base64 32)" makes one`,
  slack: (url) => webhookProblem(url) && 'must be the address of the Slack webhook',
  pagerduty: (key) => (/^[\w-]{16,}$/.test(key) ? undefined : 'must be the integration key of a PagerDuty service'),
} as const satisfies Record<string, Check>

/** An attacker could guess a shorter key. */
const KEY_CHARS_MIN = 16

export const hashKeyProblem: Check = (key) =>
  key.length < KEY_CHARS_MIN
    ? `must have at least ${KEY_CHARS_MIN} characters; "openssl rand -hex 32" makes one`
    : undefined

function addressProblem(text: string, example: string, hasForbiddenQuery = false): string | undefined {
  if (!URL.canParse(text)) return `must be an address such as ${example}`
  const { username, password, protocol, hostname } = new URL(text)
  if (username !== '' || password !== '') return 'must not contain a user name or password'
  if (hasForbiddenQuery) return 'must not contain a query (?) or a fragment (#)'
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return undefined
  return 'must begin with https:// (http:// only on this machine: localhost, 127.0.0.1, [::1])'
}

export const urlPathProblem: Check = (text) =>
  /^\/[^?#\s]*[^/?#\s]$/.test(text) ? undefined : 'must be a path such as /reportingapi'

export const proxyProblem: Check = (text) => {
  const [address = '', bits = '0', ...rest] = text.split('/')
  const bitsMax = isIPv4(address) ? 32 : 128
  const isNetwork = isIP(address) !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax
  return isNetwork ? undefined : 'must be an address or a network, such as 127.0.0.1 or 10.0.0.0/8'
}

export const queueProblem: Check = (text) => {
  if (text === 'embedded') return undefined
  const { protocol = '', pathname = '', username = '', password = '' } = URL.parse(text) ?? {}
  if (!/^(?:rediss?|postgres(?:ql)?):$/.test(protocol)) return 'must be embedded, redis://…, rediss://… or postgres://…'
  if (protocol.startsWith('redis') && !/^(?:\/\d*)?$/.test(pathname))
    return 'must end with the number of a database, such as redis://queue.example.com:6379/1'
  return attempt(() => void decodeURIComponent(username + password), 'must contain %25 in place of %')
}

export const fileProblem: Check = (text) => {
  if (text === '' || text.includes('\0')) return 'must be the path of a file'
  return ADDRESS.test(text) ? 'must be the path of a DuckDB file; addresses are not supported' : undefined
}

/** Matches the scheme of an address, but not a Windows drive such as `C:`. */
const ADDRESS = /^[a-z][a-z0-9+]+:/i

/** Splits `ducklake:sqlite:FILE` or `ducklake:postgres:CONNECTION`. The connection can contain a password. */
export function lakeAddress(text: string) {
  const [, catalogue, at = ''] = /^ducklake:(sqlite|postgres):(.+)$/s.exec(text) ?? []
  return catalogue === 'sqlite' || catalogue === 'postgres' ? ({ catalogue, at } as const) : undefined
}

export const warehouseProblem: Check = (text) => {
  if (lakeAddress(text) !== undefined) return undefined
  if (/^ducklake:/i.test(text))
    return 'must be ducklake:sqlite:FILE or ducklake:postgres:CONNECTION, no other catalogue'
  if (/^postgres(?:ql)?:|\.sqlite3?$/i.test(text))
    return 'must be a DuckDB file such as ./data/warehouse.duckdb, or a lake: ducklake:sqlite:FILE or ducklake:postgres:CONNECTION'
  if (/^(md|motherduck):/i.test(text))
    return 'cannot be MotherDuck: Tidemark was never run with it, and it has no safe way to recognise loads there; name a DuckDB file or a lake (ducklake:…)'
  return fileProblem(text)
}

/** Returns whether the text is `s3://BUCKET/PATH` without special characters. */
export const isStorage = (text = ''): boolean => /^s3:\/\/[a-z0-9][a-z0-9.-]+[a-z0-9](?:\/[\w!.'()-]+)*\/?$/.test(text)

export const lakeDataProblem: Check = (text) =>
  ADDRESS.test(text) && !isStorage(text)
    ? 'must be a directory, or s3://BUCKET/PATH: a bucket has 3 or more characters of a-z, 0-9, . and -; the path has only letters, digits and .-_'
    : undefined

export const endpointProblem: Check = (text) =>
  /^https?:\/\/[\w.:[\]-]+\/?$/.test(text) ? undefined : 'must be an address such as https://minio.example.com:9000'

const SERVE = /^quack:\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+):(\d{1,5})$/i

export const serveProblem: Check = (text) =>
  serveAddress(text) === undefined ? 'must be quack://HOST:PORT, such as quack://127.0.0.1:9494' : undefined

export function serveAddress(text: string) {
  const [, host = '', port = ''] = SERVE.exec(text) ?? []
  const number = Number(port)
  return number < 1 || number > 65_535 ? undefined : { host, port: number, isLoopback: isLoopback(host) }
}

export const everyProblem: Check = (text) => {
  if (isCron(text)) return cronProblem(text)
  const ms = parseDuration(text)
  if (ms === undefined) return `must be a duration ${DURATION_FORMS}, or a cron line of five or six fields`
  if (ms < EVERY_MS_MIN) return 'must be at least 1s'
  return ms > EVERY_MS_MAX ? 'must be at most 24d; write a cron line for anything rarer' : undefined
}

export const deletesEveryProblem: Check = (text) => (text === 'never' ? undefined : durationProblem(text))

export const reconcileEveryProblem: Check = (text) => (text === 'never' ? undefined : everyProblem(text))

export const timeZoneProblem: Check = (text) =>
  attempt(
    () => Intl.DateTimeFormat('en', { timeZone: text }) && undefined,
    'must be a time zone such as UTC or Europe/Paris',
  )

export const durationProblem: Check = (text) => {
  const ms = parseDuration(text)
  if (ms === undefined) return `must be a duration ${DURATION_FORMS}`
  return ms > REACH_MS_MAX ? 'must be at most 3650d' : undefined
}

/** Requires at least `1d`, because runs need the history of the last day. */
export const retentionProblem: Check = (text) =>
  durationProblem(text) ?? ((parseDuration(text) ?? 0) < DAY_MS ? 'must be at least 1d' : undefined)

/** Rejects `0s`, because every high-water mark lags a little, so that the alarm would never end. */
export const lagProblem: Check = (text) =>
  durationProblem(text) ?? (parseDuration(text) === 0 ? 'must be more than 0s, such as 1h' : undefined)

export const queryTimeProblem: Check = (text) => {
  const ms = parseDuration(text)
  if (ms === undefined) return `must be a duration ${DURATION_FORMS}`
  return ms < EVERY_MS_MIN || ms > EVERY_MS_MAX ? 'must be from 1s to 24d' : undefined
}

export const instantProblem: Check = (text) =>
  parseInstant(text) === undefined ? 'must be a date or date-time such as 2000-01-01T00:00:00Z' : undefined

export const currencyProblem: Check = (text) =>
  /^[A-Z]{3}$/i.test(text) ? undefined : 'must be an ISO 4217 code of three letters such as EUR'

const isLoopback = (host: string): boolean => host === 'localhost' || host === '[::1]' || /^127(?:\.\d+){3}$/.test(host)
