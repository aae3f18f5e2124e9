/** Reads the secrets from environment variables or from files. `tidemark.yaml` never contains a secret. */
import path from 'node:path'
import type { ReportName } from '../../schema/index.ts'
import { Secret } from '../secret.ts'
import { type Check, hashKeyProblem, isStorage, RECEIVER_SECRETS } from './checks.ts'
import { CLIENT_SECRET, HASH_KEY, receiverSecretVariable, STORAGE_KEYS } from './environment.ts'
import { pathText, valueAt, type Path, type Problem, type WhereOf } from './problems.ts'
import type { RawConfig } from './raw.ts'
import { readSecretFile, type Sources } from './sources.ts'

export interface ReceiverConfig {
  /** The name of the receiver's setting. Example: `notify.data.pipeline`. */
  readonly name: string
  readonly takes: 'notices' | 'data'
  readonly format: keyof typeof RECEIVER_SECRETS
  /** Only the host is printed, because the rest can be secret. */
  readonly webhook?: URL
  /** The signing key, the Slack webhook's address, or the PagerDuty integration key. */
  readonly secret: Secret
  /** Undefined means all reports. */
  readonly reports?: readonly ReportName[]
}

interface SecretSetting {
  readonly name: string
  readonly variable: string
  readonly path: Path
  readonly check: Check
  /** Returns undefined if the secret is not required. */
  readonly missing: (cure: string) => Problem | undefined
}

interface SecretSources {
  readonly sources: Sources
  readonly whereOf: WhereOf
  readonly problems: Problem[]
}

export function readClientSecret(value: unknown, from: SecretSources): Promise<Secret | undefined> {
  const setting: SecretSetting = {
    name: 'client secret',
    variable: CLIENT_SECRET,
    path: ['service', 'client_secret_file'],
    check: () => undefined,
    missing: (cure) => ({ where: CLIENT_SECRET, problem: `the client secret is missing: ${cure}` }),
  }
  return readSecret(setting, value, from)
}

export function readHashKey(raw: RawConfig, from: SecretSources): Promise<Secret | undefined> {
  const column = firstHashedColumn(raw)
  const place = { variable: HASH_KEY, path: ['hash_key_file'] }
  const missing = (cure: string) => column && { where: from.whereOf(column), problem: `hash needs a key: ${cure}` }
  return readSecret({ name: 'hash key', ...place, check: hashKeyProblem, missing }, raw, from)
}

export async function readStorageKeys(raw: RawConfig, from: SecretSources): Promise<readonly Secret[]> {
  const keys = (isStorage(raw.lake_data) ? STORAGE_KEYS : []).map((variable) => {
    const problem = `lake_data needs an access key: set ${variable} or ${variable}_FILE`
    const missing = () => (variable === 'AWS_SESSION_TOKEN' ? undefined : { where: variable, problem })
    // `path` is empty, because the configuration file has no setting for these keys.
    return readSecret({ name: variable, variable, path: [], check: () => undefined, missing }, raw, from)
  })
  return (await Promise.all(keys)).filter((key) => key !== undefined)
}

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
  const incomplete = (problem: string) => ({ where: from.whereOf(place), problem: `${called}: ${problem}` })
  if (webhook === undefined) {
    from.problems.push(incomplete('webhook is missing: the address that messages are posted to'))
    return []
  }
  const check = RECEIVER_SECRETS[format]
  const missing = (cure: string) => incomplete(`the secret is missing; it ${check('')}: ${cure}`)
  const setting = { variable: receiverSecretVariable(name), path: [...place, 'secret_file'], check, missing }
  const secret = await readSecret({ name: `secret of ${called}`, ...setting }, config, from)
  if (secret === undefined) return []
  const more = { ...(webhook !== '' && { webhook: new URL(webhook) }), ...(reports && { reports }) }
  const of = takes === 'data' ? ({ takes } as const) : ({ takes: 'notices' } as const)
  return [{ name: name === undefined ? 'notify.webhook' : called, ...of, format, secret, ...more }]
}

/** The address of a receiver without `webhook`. Slack has none, because the address is its secret. */
const DEFAULT_ADDRESSES = { plain: undefined, slack: '', pagerduty: 'https://events.pagerduty.com/v2/enqueue' }

async function readSecret(
  { name, variable, path: setting, check, missing }: SecretSetting,
  value: unknown,
  { sources: { env, folder }, whereOf, problems }: SecretSources,
): Promise<Secret | undefined> {
  const refuse = (problem: Problem | undefined): undefined => {
    if (problem !== undefined) problems.push(problem)
  }
  const direct = env[variable]
  const named = env[`${variable}_FILE`]
  if (direct !== undefined && named !== undefined)
    return refuse({ where: variable, problem: `${variable}_FILE is set too: keep one of the two` })
  const file = named ?? valueAt(value, setting)
  if (direct === undefined && (typeof file !== 'string' || file === ''))
    return refuse(missing(`set ${variable}, ${variable}_FILE or ${pathText(setting)}`))
  const where = direct !== undefined ? variable : named === undefined ? whereOf(setting) : `${variable}_FILE`
  const secret =
    direct === undefined ? await readSecretFile(path.resolve(folder, String(file)), name) : new Secret(direct)
  if (!(secret instanceof Secret)) return refuse({ where, problem: secret.problem })
  const problem = check(secret.reveal())
  return problem === undefined ? secret : refuse({ where, problem: `the ${name} ${problem}` })
}

function firstHashedColumn({ reports }: RawConfig): Path | undefined {
  const paths = Object.entries(reports).flatMap(([report, own]) =>
    Object.entries(own?.columns ?? {}).flatMap(([column, rule]) =>
      rule === 'hash' ? [['reports', report, 'columns', column]] : [],
    ),
  )
  return paths[0]
}
