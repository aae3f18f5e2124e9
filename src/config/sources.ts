/** Reads the configuration file, `.env` and secret files. Only `ownReports.ts` reads other files. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { Secret } from '../secret.ts'
import { CLIENT_SECRET, type Environment, HASH_KEY, NOTIFY_SECRET, type Override, STORAGE_KEYS } from './environment.ts'
import { configInvalid } from './problems.ts'

const FILE_NAME = 'tidemark.yaml'

export interface ConfigSources {
  readonly file?: string
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly override?: Override | undefined
  /** If true, the client secret and the secrets of messages may be missing or unreadable. */
  readonly isReading?: boolean
}

export type Sources = Awaited<ReturnType<typeof readSources>>

/** Reads `file`, else the file in TIDEMARK_CONFIG, else `tidemark.yaml`, which may be missing. */
export async function readSources({ file, env, cwd }: ConfigSources) {
  const named = file ?? (env['TIDEMARK_CONFIG'] === '' ? undefined : env['TIDEMARK_CONFIG'])
  const chosen = path.resolve(cwd, named ?? FILE_NAME)
  const text = await contentOf(chosen)
  if (named !== undefined && typeof text !== 'string') throw fileUnreadable(file === undefined, named, text)
  if (typeof text !== 'string' && text.code !== 'ENOENT') throw fileUnreadable(false, FILE_NAME, text)
  const folder = typeof text === 'string' ? path.dirname(chosen) : cwd
  const dotEnv = await contentOf(path.join(folder, '.env'))
  // A folder named `.env` is usually a Python environment, so it is ignored.
  if (typeof dotEnv !== 'string' && !['ENOENT', 'EISDIR'].includes(dotEnv.code))
    throw fileUnreadable(false, '.env', dotEnv)
  const environment = withDotEnv(env, dotEnv)
  if (typeof text !== 'string') return { fileLabel: FILE_NAME, text: '', folder, env: environment }
  return { file: chosen, fileLabel: labelOf(chosen, cwd), text, folder, env: environment }
}

export async function readSecretFile(file: string, name: string): Promise<Secret | { readonly problem: string }> {
  const text = await contentOf(file)
  if (typeof text !== 'string') return { problem: `the file with the ${name} cannot be read (${text.code})` }
  const secret = secretIn(text)
  if (secret === undefined) return { problem: `the file with the ${name} is empty` }
  // While the file is missing or empty, the old secret stays in use.
  return new Secret(secret, async () => secretIn(await contentOf(file)))
}

function secretIn(text: string | FileError): string | undefined {
  if (typeof text !== 'string') return undefined
  const secret = text.replace(/\r?\n$/, '')
  return secret.trim() === '' ? undefined : secret
}

const SECRETS: readonly string[] = [CLIENT_SECRET, HASH_KEY, NOTIFY_SECRET, ...STORAGE_KEYS]

function withDotEnv(env: NodeJS.ProcessEnv, dotEnv: string | FileError): Environment {
  const real = present(env)
  const inDotEnv = present(typeof dotEnv === 'string' ? parseEnv(dotEnv) : {})
  // If NAME or NAME_FILE is in the process environment, `.env` cannot set either.
  for (const name of SECRETS) {
    if (real[name] === undefined && real[`${name}_FILE`] === undefined) continue
    delete inDotEnv[name]
    delete inDotEnv[`${name}_FILE`]
  }
  return { ...inDotEnv, ...real }
}

function present(env: NodeJS.Dict<string>): Record<string, string> {
  const filled = Object.entries(env).filter((entry): entry is [string, string] => (entry[1] ?? '').trim() !== '')
  return Object.fromEntries(filled.map(([name, text]) => [name, SECRETS.includes(name) ? text : text.trim()]))
}

interface FileError {
  readonly code: string
}

async function contentOf(file: string): Promise<string | FileError> {
  try {
    return (await readFile(file, 'utf8')).replace(/^\uFEFF/, '')
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code ?? 'unknown' }
  }
}

function fileUnreadable(fromEnv: boolean, named: string, { code }: FileError) {
  const reason = code === 'ENOENT' ? 'there is no such file' : `the file cannot be read (${code})`
  return configInvalid([
    { where: fromEnv ? 'TIDEMARK_CONFIG' : named, problem: fromEnv ? `${named}: ${reason}` : reason },
  ])
}

function labelOf(file: string, cwd: string): string {
  const relative = path.relative(cwd, file)
  return relative.startsWith('..') ? file : relative
}
