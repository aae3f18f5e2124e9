/** Reads configuration file, `.env` and environment. Returns one frozen value or throws one error for all problems. */
import { Secret } from '../secret.ts'
import {
  clashingFiles,
  lakeProblems,
  missingSettings,
  servingProblems,
  unknownReports,
  columnProblems,
} from './crossChecks.ts'
import { differingKeys, type MergedSettings, variablesInEffect, variableOf, withEnvironment } from './environment.ts'
import { findingsOf } from './issues.ts'
import { configInvalid, type Problem, type WhereOf } from './problems.ts'
import { RawConfig } from './raw.ts'
import { resolve } from './resolve.ts'
import { readClientSecret, readHashKey, readReceivers } from './secrets.ts'
import type { Config, ConfigSources } from './shape.ts'
import { readSources, type Sources } from './sources.ts'
import { parseYaml, type YamlFile } from './yamlFile.ts'

export type { Problem } from './problems.ts'
export { jsonSchema, type Limits } from './raw.ts'
export type * from './shape.ts'

/** Throws CONFIG_INVALID with all problems. */
export const loadConfig = async (given: ConfigSources): Promise<Config> => frozen((await readConfig(given)).config)

async function readConfig(given: ConfigSources): Promise<{ readonly config: Config; readonly settings: unknown }> {
  const sources = await readSources(given)
  const { env, folder, file } = sources
  const yaml = readYaml(sources)
  const merged = withEnvironment(yaml.value, env)
  const whereOf = whereOfSettings(sources, yaml, merged)
  const { raw, problems } = check(merged.value, sources, whereOf)
  const places = { sources, whereOf, problems }
  const clientSecret = await readClientSecret(merged.value, places)
  const hashKey = raw && (await readHashKey(raw, places))
  const receivers = raw ? await readReceivers(raw, places) : []
  if (raw === undefined || clientSecret === undefined || problems.length > 0)
    throw configInvalid(problems, file === undefined ? folder : undefined)
  const settings = { ...(merged.value as object), ...variablesInEffect(env) }
  const editedKeys = async () => differingKeys(settings, (await readConfig(given)).settings)
  return { config: resolve(raw, { sources, clientSecret, hashKey, receivers, editedKeys }), settings }
}

function readYaml({ text, fileLabel }: Sources): YamlFile {
  const yaml = parseYaml(text)
  if (yaml.malformed.length === 0) return yaml
  throw configInvalid(yaml.malformed.map(({ line, problem }) => ({ where: `${fileLabel}:${line}`, problem })))
}

function whereOfSettings(sources: Sources, yaml: YamlFile, merged: MergedSettings): WhereOf {
  return (path) => {
    const variable = merged.variableAt(path) ?? (sources.file === undefined ? variableOf(path) : undefined)
    return variable ?? `${sources.fileLabel}:${yaml.lineOf(path)}`
  }
}

function check(value: unknown, sources: Sources, whereOf: WhereOf): { raw?: RawConfig; problems: Problem[] } {
  const parsed = RawConfig.safeParse(value)
  const others = [...missingSettings(value, whereOf), ...unknownReports(sources.env)]
  if (parsed.success) {
    const raw = parsed.data as RawConfig
    return {
      raw,
      problems: [
        ...others,
        ...clashingFiles(raw, sources.folder, whereOf),
        ...columnProblems(raw, whereOf),
        ...servingProblems(raw, sources.env, whereOf),
        ...lakeProblems(raw, whereOf),
      ],
    }
  }
  const findings = findingsOf(parsed.error).map(({ path, problem }) => ({ where: whereOf(path), problem }))
  return { problems: [...findings.toSorted((a, b) => lineOf(a) - lineOf(b)), ...others] }
}

/** Problems of environment variables are sorted last. */
const lineOf = ({ where }: Problem): number => Number(/:(\d+)$/.exec(where)?.[1] ?? Infinity)

/** Freezes all values inside, too, except URLs and secrets, which cannot be frozen. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof URL || value instanceof Secret) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}
