/**
 * Everything that configuration reads from outside: the file, the `.env` beside it and the file with the secret. The
 * one place in this room that touches the disk; the environment comes in through `ConfigSources`.
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { Secret } from '../secret.ts'
import {
  CLIENT_SECRET,
  CLIENT_SECRET_FILE,
  type Environment,
  HASH_KEY,
  HASH_KEY_FILE,
  NOTIFY_SECRET,
  NOTIFY_SECRET_FILE,
} from './environment.ts'
import { configInvalid, type Problem } from './problems.ts'
import type { ConfigSources } from './shape.ts'

const FILE_NAME = 'tidemark.yaml'

export interface Sources {
  /** Absolute; none when the environment says it all. */
  readonly file?: string
  /** As people are told about it: from the working directory where that is shorter. */
  readonly fileLabel: string
  readonly text: string
  /** Paths in the configuration count from here. */
  readonly folder: string
  /** `.env` with the real environment over it; an empty variable is one that is not set. */
  readonly env: Environment
}

export async function readSources({ file, env, cwd }: ConfigSources): Promise<Sources> {
  const named = file ?? (env['TIDEMARK_CONFIG'] === '' ? undefined : env['TIDEMARK_CONFIG'])
  const chosen = path.resolve(cwd, named ?? FILE_NAME)
  const text = await contentOf(chosen)
  if (named !== undefined && typeof text !== 'string') throw unreadable(file === undefined, named, text)
  if (typeof text !== 'string' && text.code !== 'ENOENT') throw unreadable(false, FILE_NAME, text)
  const folder = typeof text === 'string' ? path.dirname(chosen) : cwd
  const dotEnv = await contentOf(path.join(folder, '.env'))
  // A folder of that name is somebody's Python environment.
  if (typeof dotEnv !== 'string' && !['ENOENT', 'EISDIR'].includes(dotEnv.code)) throw unreadable(false, '.env', dotEnv)
  const environment = withDotEnv(env, dotEnv)
  if (typeof text !== 'string') return { fileLabel: FILE_NAME, text: '', folder, env: environment }
  return { file: chosen, fileLabel: labelOf(chosen, cwd), text, folder, env: environment }
}

/** The secret in `file`, without the line break that editors and secret stores put at its end; or what is wrong. */
export async function readSecret(file: string, where: string, what = 'client secret'): Promise<Secret | Problem> {
  const text = await contentOf(file)
  if (typeof text !== 'string') return { where, problem: `the file with the ${what} cannot be read (${text.code})` }
  const secret = secretIn(text)
  if (secret === undefined) return { where, problem: `the file with the ${what} is empty` }
  // One that is being replaced may be away, or empty, for a moment.
  return new Secret(secret, async () => secretIn(await contentOf(file)))
}

function secretIn(text: string | Unreadable): string | undefined {
  if (typeof text !== 'string') return undefined
  const secret = text.replace(/\r?\n$/, '')
  return secret.trim() === '' ? undefined : secret
}

/** Each secret by itself, or by the file that holds it. */
const SECRETS = [
  [CLIENT_SECRET, CLIENT_SECRET_FILE],
  [HASH_KEY, HASH_KEY_FILE],
  [NOTIFY_SECRET, NOTIFY_SECRET_FILE],
] as const

function withDotEnv(env: NodeJS.ProcessEnv, dotEnv: string | Unreadable): Environment {
  const real = present(env)
  const beside = present(typeof dotEnv === 'string' ? parseEnv(dotEnv) : {})
  // The two say the same thing; where the environment says one, a `.env` that says the other is the weaker voice.
  for (const [direct, file] of SECRETS) {
    if (real[direct] === undefined && real[file] === undefined) continue
    delete beside[direct]
    delete beside[file]
  }
  return { ...beside, ...real }
}

function present(env: NodeJS.Dict<string>): Record<string, string> {
  const filled = Object.entries(env).filter((entry): entry is [string, string] => (entry[1] ?? '').trim() !== '')
  return Object.fromEntries(
    filled.map(([name, text]) => [name, SECRETS.some(([direct]) => direct === name) ? text : text.trim()]),
  )
}

interface Unreadable {
  readonly code: string
}

async function contentOf(file: string): Promise<string | Unreadable> {
  try {
    return (await readFile(file, 'utf8')).replace(/^\uFEFF/, '')
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code ?? 'unknown' }
  }
}

function unreadable(fromEnv: boolean, named: string, { code }: Unreadable) {
  const reason = code === 'ENOENT' ? 'there is no such file' : `the file cannot be read (${code})`
  return configInvalid([
    { where: fromEnv ? 'TIDEMARK_CONFIG' : named, problem: fromEnv ? `${named}: ${reason}` : reason },
  ])
}

function labelOf(file: string, cwd: string): string {
  const relative = path.relative(cwd, file)
  return relative.startsWith('..') ? file : relative
}
