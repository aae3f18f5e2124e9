/** Test support: a folder with the files of one test, and the variables that every configuration needs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadConfig, type Config, type Problem } from '../../src/config/config.ts'
import { SyncError } from '../../src/errors.ts'

export const SECRET_TEXT = 'hunter2-hunter2'

export const REQUIRED_ENV = {
  REPORTING_BASE_URL: 'https://reports.example.com',
  REPORTING_CLIENT_ID: 'acme',
  REPORTING_CLIENT_SECRET: SECRET_TEXT,
}

export interface Folder extends AsyncDisposable {
  readonly path: string
}

export async function aFolder(files: Readonly<Record<string, string>> = {}): Promise<Folder> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-config-'))
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text)
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}

interface ConfigTexts {
  readonly yaml?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Loads a `tidemark.yaml` of this text, with `env` and the required variables. */
export async function configOf({ yaml, env }: ConfigTexts = {}): Promise<Config> {
  await using folder = await aFolder(yaml === undefined ? {} : { 'tidemark.yaml': yaml })
  return await loadConfig({ env: { ...REQUIRED_ENV, ...env }, cwd: folder.path })
}

/** Returns the error of a configuration that must not load. */
export async function refusalOf(loading: Promise<Config>): Promise<SyncError> {
  const outcome = await loading.catch((error: unknown) => error)
  if (outcome instanceof SyncError) return outcome
  throw new TypeError('the configuration was accepted', { cause: outcome })
}

export async function problemsOf(given: ConfigTexts): Promise<readonly string[]> {
  const { data } = await refusalOf(configOf(given))
  return (data['problems'] as readonly Problem[]).map(({ where, problem }) => `${where} ${problem}`)
}
