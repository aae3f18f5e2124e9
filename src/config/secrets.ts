/** Reads the secrets from environment variables or from files. `tidemark.yaml` never contains a secret. */
import path from 'node:path'
import { Secret } from '../secret.ts'
import { CLIENT_SECRET, HASH_KEY, NOTIFY_SECRET } from './environment.ts'
import { pathText, valueAt, type Path, type Problem, type WhereOf } from './problems.ts'
import type { RawConfig } from './raw.ts'
import { readSecretFile, type Sources } from './sources.ts'

/** A shorter key could be found by trying all combinations. */
const KEY_CHARS_MIN = 16

const SETTINGS = {
  client: { name: 'client secret', variable: CLIENT_SECRET, path: ['service', 'client_secret_file'], charsMin: 1 },
  hash: { name: 'hash key', variable: HASH_KEY, path: ['hash_key_file'], charsMin: KEY_CHARS_MIN },
  notify: {
    name: 'secret of notices',
    variable: NOTIFY_SECRET,
    path: ['notify', 'secret_file'],
    charsMin: KEY_CHARS_MIN,
  },
} as const

type SecretSetting = (typeof SETTINGS)[keyof typeof SETTINGS]

interface SecretSources {
  readonly sources: Sources
  readonly whereOf: WhereOf
  readonly problems: Problem[]
}

/** Reads the client secret, which is always required. If it is missing, reports a problem and returns undefined. */
export async function readClientSecret(value: unknown, from: SecretSources): Promise<Secret | undefined> {
  const secret = await readSecret(SETTINGS.client, value, from)
  if (secret === 'none')
    return refuse(from, CLIENT_SECRET, `the client secret is missing: ${instruction(SETTINGS.client)}`)
  return secret
}

/** Reads the key for hashed columns. Reports a problem if a report hashes a column and there is no key. */
export async function readHashKey(raw: RawConfig, from: SecretSources): Promise<Secret | undefined> {
  const key = await readSecret(SETTINGS.hash, raw, from)
  if (key !== 'none') return key
  const column = firstHashedColumn(raw)
  return column && refuse(from, from.whereOf(column), `hash needs a key: ${instruction(SETTINGS.hash)}`)
}

/** Reads the secret that signs notices. Reports a problem if a webhook is configured and there is no secret. */
export async function readNotifySecret(raw: RawConfig, from: SecretSources): Promise<Secret | undefined> {
  if (raw.notify.webhook === undefined) return undefined
  const secret = await readSecret(SETTINGS.notify, raw, from)
  if (secret !== 'none') return secret
  return refuse(from, from.whereOf(['notify', 'webhook']), `notices are signed: ${instruction(SETTINGS.notify)}`)
}

const instruction = ({ variable, path: setting }: SecretSetting): string =>
  `set ${variable}, ${variable}_FILE or ${pathText(setting)}`

function refuse({ problems }: SecretSources, where: string, problem: string): undefined {
  problems.push({ where, problem })
}

async function readSecret(
  { name, variable, path: setting, charsMin }: SecretSetting,
  value: unknown,
  from: SecretSources,
): Promise<Secret | undefined | 'none'> {
  const { env, folder } = from.sources
  const direct = env[variable]
  if (direct !== undefined && env[`${variable}_FILE`] !== undefined)
    return refuse(from, variable, `${variable}_FILE is set too: keep one of the two`)
  const file = valueAt(value, setting)
  if (direct === undefined && (typeof file !== 'string' || file === '')) return 'none'
  const where = direct === undefined ? from.whereOf(setting) : variable
  const secret =
    direct === undefined ? await readSecretFile(path.resolve(folder, String(file)), name) : new Secret(direct)
  if (!(secret instanceof Secret)) return refuse(from, where, secret.problem)
  if (secret.reveal().length >= charsMin) return secret
  return refuse(from, where, `the ${name} must have at least ${charsMin} characters; "openssl rand -hex 32" makes one`)
}

function firstHashedColumn({ reports }: RawConfig): Path | undefined {
  const paths = Object.entries(reports).flatMap(([report, own]) =>
    Object.entries(own?.columns ?? {}).flatMap(([column, rule]) =>
      rule === 'hash' ? [['reports', report, 'columns', column]] : [],
    ),
  )
  return paths[0]
}
