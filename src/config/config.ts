/**
 * Reading the configuration, once, at the start (product contract, configuration): the file, the `.env` beside it and
 * the environment become one frozen value, or one error that lists everything that is wrong.
 */
import { Secret } from '../secret.ts'
import {
  clashingFiles,
  clientSecretOf,
  lakeProblems,
  missing,
  onlyReportsOf,
  servingProblems,
  unknownReports,
  type WhereOf,
} from './beyondSchema.ts'
import { CONSOLE_TOKEN, inEffect, mistyped, override, SERVE_TOKEN, variableOf, type Overridden } from './environment.ts'
import { findingsOf } from './issues.ts'
import { notifySecretOf } from './notify.ts'
import { columnProblems, hashKeyOf } from './privacy.ts'
import { configInvalid, type Problem } from './problems.ts'
import { RawConfig } from './raw.ts'
import { resolve } from './resolve.ts'
import type { Config, ConfigSources } from './shape.ts'
import { readSources, type Sources } from './sources.ts'
import { parseYaml, type YamlFile } from './yamlFile.ts'

export { jsonSchema } from './jsonSchema.ts'
export type { Problem } from './problems.ts'
export type * from './shape.ts'

export async function loadConfig(given: ConfigSources): Promise<Config> {
  const sources = await readSources(given)
  const yaml = wellFormed(sources)
  const merged = override(yaml.value, sources.env)
  const whereOf = placesOf(sources, yaml, merged)
  const checked = check(merged.value, sources, whereOf)
  const refused = (problems: readonly Problem[]) =>
    configInvalid(problems, sources.file === undefined ? sources.folder : undefined)
  const clientSecret = await clientSecretOf(merged.value, sources, whereOf)
  if (!(clientSecret instanceof Secret)) throw refused([...checked.problems, clientSecret])
  if (checked.raw === undefined || checked.problems.length > 0) throw refused(checked.problems)
  const hashKey = await hashKeyOf(checked.raw, sources, whereOf)
  if (hashKey !== undefined && !(hashKey instanceof Secret)) throw refused([hashKey])
  const notifySecret = await notifySecretOf(checked.raw.notify, sources, whereOf)
  if (notifySecret !== undefined && !(notifySecret instanceof Secret)) throw refused([notifySecret])
  const consoleToken = sources.env[CONSOLE_TOKEN]
  const serveToken = sources.env[SERVE_TOKEN]
  const misspelt = mistyped(sources.env)
  const config = resolve(checked.raw, {
    folder: sources.folder,
    onlyReports: onlyReportsOf(sources.env),
    clientSecret,
    hashKey,
    notifySecret,
    consoleToken: consoleToken === undefined ? undefined : new Secret(consoleToken),
    serveToken: serveToken === undefined ? undefined : new Secret(serveToken),
    source: {
      ...(sources.file !== undefined && { file: sources.file }),
      env: inEffect(sources.env),
      ...(misspelt.length > 0 && { mistyped: misspelt }),
    },
  })
  return frozen(config)
}

function wellFormed({ text, fileLabel }: Sources): YamlFile {
  const yaml = parseYaml(text)
  if (yaml.malformed.length === 0) return yaml
  throw configInvalid(yaml.malformed.map(({ line, problem }) => ({ where: `${fileLabel}:${line}`, problem })))
}

/**
 * A key's place is the variable that gave it, else its line in the file, else (without a file) the variable that could.
 */
function placesOf(sources: Sources, yaml: YamlFile, merged: Overridden): WhereOf {
  return (path) => {
    const variable = merged.variableAt(path) ?? (sources.file === undefined ? variableOf(path) : undefined)
    return variable ?? `${sources.fileLabel}:${yaml.lineOf(path)}`
  }
}

function check(value: unknown, sources: Sources, whereOf: WhereOf): { raw?: RawConfig; problems: readonly Problem[] } {
  const parsed = RawConfig.safeParse(value)
  const others = [...missing(value, whereOf), ...unknownReports(onlyReportsOf(sources.env) ?? [])]
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

/** Variables have no line and come after the file. */
const lineOf = ({ where }: Problem): number => Number(/:(\d+)$/.exec(where)?.[1] ?? Infinity)

/** Through and through; addresses and secrets guard themselves. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof URL || value instanceof Secret) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}
