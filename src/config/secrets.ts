/** Reads the secrets from environment variables or from files. `tidemark.yaml` never contains a secret. */
import path from 'node:path'
import { Secret } from '../secret.ts'
import { type Check, hashKeyProblem, RECEIVER_SECRETS } from './checks.ts'
import { CLIENT_SECRET, HASH_KEY, receiverSecretVariable } from './environment.ts'
import { pathText, valueAt, type Path, type Problem, type WhereOf } from './problems.ts'
import type { RawConfig } from './raw.ts'
import type { ReceiverConfig } from './shape.ts'
import { readSecretFile, type Sources } from './sources.ts'

interface SecretSetting {
  readonly name: string
  readonly variable: string
  readonly path: Path
  readonly check: Check
}

const SETTINGS = {
  client: {
    name: 'client secret',
    variable: CLIENT_SECRET,
    path: ['service', 'client_secret_file'],
    check: () => undefined,
  },
  hash: { name: 'hash key', variable: HASH_KEY, path: ['hash_key_file'], check: hashKeyProblem },
} as const satisfies Record<string, SecretSetting>

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

/** Reads the receivers of notices and data with their secrets. Reports a problem for each incomplete receiver. */
export async function readReceivers(config: RawConfig, from: SecretSources): Promise<ReceiverConfig[]> {
  const { webhook, format, notices, data } = config.notify
  const paths = [
    ...(webhook !== undefined || format !== 'plain' ? [['notify']] : []),
    ...Object.keys(notices).map((name) => ['notify', 'notices', name]),
    ...Object.keys(data).map((name) => ['notify', 'data', name]),
  ]
  const receivers: ReceiverConfig[] = []
  for (const place of paths) receivers.push(...(await readReceiver(config, place, from)))
  return receivers
}

type RawReceiver = Omit<ReceiverConfig, 'webhook'> & { readonly webhook?: string }

async function readReceiver(config: RawConfig, place: Path, from: SecretSources): Promise<ReceiverConfig[]> {
  const [, takes = 'webhook', name] = place.map(String)
  const { format, reports, webhook = DEFAULT_ADDRESSES[format] } = valueAt(config, place) as RawReceiver
  const called = pathText(place)
  const missing = (problem: string) => refuse(from, from.whereOf(place), `${called}: ${problem}`) ?? []
  if (webhook === undefined) return missing('webhook is missing: the address that messages are posted to')
  const check = RECEIVER_SECRETS[format]
  const variable = receiverSecretVariable(name)
  const setting = { name: `secret of ${called}`, variable, path: [...place, 'secret_file'], check }
  const secret = await readSecret(setting, config, from)
  if (secret === 'none') return missing(`the secret is missing; it ${check('')}: ${instruction(setting)}`)
  if (secret === undefined) return []
  const more = { ...(webhook !== '' && { webhook: new URL(webhook) }), ...(reports && { reports }) }
  const of = takes === 'data' ? ({ takes } as const) : ({ takes: 'notices' } as const)
  return [{ name: name === undefined ? 'notify.webhook' : called, ...of, format, secret, ...more }]
}

/** Slack: the secret is the address. */
const DEFAULT_ADDRESSES = { plain: undefined, slack: '', pagerduty: 'https://events.pagerduty.com/v2/enqueue' }

const instruction = ({ variable, path: setting }: SecretSetting): string =>
  `set ${variable}, ${variable}_FILE or ${pathText(setting)}`

function refuse({ problems }: SecretSources, where: string, problem: string): undefined {
  problems.push({ where, problem })
}

async function readSecret(
  { name, variable, path: setting, check }: SecretSetting,
  value: unknown,
  from: SecretSources,
): Promise<Secret | undefined | 'none'> {
  const { env, folder } = from.sources
  const direct = env[variable]
  const named = env[`${variable}_FILE`]
  if (direct !== undefined && named !== undefined)
    return refuse(from, variable, `${variable}_FILE is set too: keep one of the two`)
  const file = named ?? valueAt(value, setting)
  if (direct === undefined && (typeof file !== 'string' || file === '')) return 'none'
  const where = direct !== undefined ? variable : named === undefined ? from.whereOf(setting) : `${variable}_FILE`
  const secret =
    direct === undefined ? await readSecretFile(path.resolve(folder, String(file)), name) : new Secret(direct)
  if (!(secret instanceof Secret)) return refuse(from, where, secret.problem)
  const problem = check(secret.reveal())
  return problem === undefined ? secret : refuse(from, where, `the ${name} ${problem}`)
}

function firstHashedColumn({ reports }: RawConfig): Path | undefined {
  const paths = Object.entries(reports).flatMap(([report, own]) =>
    Object.entries(own?.columns ?? {}).flatMap(([column, rule]) =>
      rule === 'hash' ? [['reports', report, 'columns', column]] : [],
    ),
  )
  return paths[0]
}
