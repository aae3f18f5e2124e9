/** Reads the configuration file, `.env` and environment into one frozen value. */
import { Secret } from '../secret.ts'
import { clashingSettings, missingSettings } from './crossChecks.ts'
import { differingKeys, flatSettings, variablesInEffect, variableOf, withEnvironment } from './environment.ts'
import { findingsOf } from './issues.ts'
import { loadOwnReports } from './ownReports.ts'
import { configInvalid, declarationsInvalid, type Finding, type Path, type Problem, valueAt } from './problems.ts'
import { PathList, rawConfig, type RawConfig } from './raw.ts'
import { type Config, resolve } from './resolve.ts'
import { readClientSecret, readHashKey, readReceivers, readStorageKeys } from './secrets.ts'
import { type ConfigSources, readSources } from './sources.ts'
import { parseYaml } from './yamlFile.ts'

export type { Problem } from './problems.ts'
export { jsonSchema, type Limits } from './raw.ts'
export type { Config, NotifyConfig, OffReason, ReportConfig, Rhythm } from './resolve.ts'
export type { ReceiverConfig } from './secrets.ts'

/** Reads the configuration, or throws CONFIG_INVALID with its problems. */
export const loadConfig = async (given: ConfigSources): Promise<Config> => frozen((await readConfig(given)).config)

async function readConfig(given: ConfigSources): Promise<{ readonly config: Config; readonly settings: unknown }> {
  const sources = await readSources(given)
  const { env, folder, file, fileLabel } = sources
  const yaml = parseYaml(sources.text)
  if (yaml.malformed.length > 0)
    throw configInvalid(yaml.malformed.map(({ line, problem }) => ({ where: `${fileLabel}:${line}`, problem })))
  const merged = withEnvironment(flatSettings(yaml.value), env, given.override)
  const to = typeof valueAt(yaml.value, ['warehouse']) === 'object' ? 'warehouse.' : 'lake_'
  const lineOf = ([key, ...path]: Path) => yaml.lineOf([...`${key}`.replace(/^lake_/, to).split('.'), ...path])
  const whereOf = (path: Path): string =>
    merged.variableAt(path) ?? ((file === undefined && variableOf(path)) || `${fileLabel}:${lineOf(path)}`)
  const from = PathList.safeParse(valueAt(merged.value, ['reports_from'])).data ?? []
  const undeclared = await loadOwnReports([from].flat(), folder)
  if (undeclared.length > 0) throw declarationsInvalid(undeclared)
  const parsed = rawConfig().safeParse(merged.value)
  const raw = parsed.data as RawConfig | undefined
  const problemOf = ({ at, problem }: Finding) => ({ where: typeof at === 'string' ? at : whereOf(at), problem })
  const isMove = given.override?.['warehouse'] !== undefined
  const problems = [
    ...findingsOf(parsed.error)
      .map(problemOf)
      .toSorted((a, b) => lineIn(a) - lineIn(b)),
    ...[...missingSettings(merged.value, env), ...(raw ? clashingSettings(raw, sources, isMove) : [])].map(problemOf),
  ]
  const needed = { sources, whereOf, problems }
  const places = given.isReading === true ? { ...needed, problems: [] } : needed
  const clientSecret = (await readClientSecret(merged.value, places)) ?? (given.isReading ? new Secret('') : undefined)
  const hashKey = raw && (await readHashKey(raw, needed))
  const storageKeys = raw ? await readStorageKeys(raw, needed) : []
  const receivers = raw ? await readReceivers(raw, places) : []
  if (raw === undefined || clientSecret === undefined || problems.length > 0)
    throw configInvalid(problems, file === undefined && !isMove ? folder : undefined)
  const settings = { ...(merged.value as object), ...variablesInEffect(env) }
  const editedKeys = async () => differingKeys(settings, (await readConfig(given)).settings)
  return { config: resolve(raw, { sources, clientSecret, hashKey, storageKeys, receivers, editedKeys }), settings }
}

/** Problems with environment variables have no line and are sorted last. */
const lineIn = ({ where }: Problem): number => Number(/:(\d+)$/.exec(where)?.[1] ?? Infinity)

/** URLs and secrets cannot be frozen. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof URL || value instanceof Secret) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}
