/** Creates and changes the files of `tidemark init`: settings, `.env` and `.gitignore`. */
import { chmod, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseEnv } from 'node:util'
import type { ReportName } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import { Secret } from '../../secret.ts'
import type { Answers } from './answers.ts'

export const SETTINGS_FILE = 'tidemark.yaml'
export const SECRETS_FILE = '.env'
const IGNORE_FILE = '.gitignore'

export type Unreadable = ReadonlyMap<ReportName, string>

export function settingsText({ baseUrl, clientId, currencies, warehouse }: Answers, unreadable: Unreadable): string {
  const off = [...unreadable].map(([report, code]) => `  ${report}: { enabled: false }   # ${code} when it was tried`)
  return [
    '# Settings of Tidemark. docs/SETTINGS.md lists all of them; the secret is in .env, never here.',
    'service:',
    `  base_url: ${JSON.stringify(baseUrl)}`,
    `  client_id: ${JSON.stringify(clientId)}`,
    ...(warehouse === undefined ? [] : [`warehouse: ${JSON.stringify(warehouse)}`]),
    currencies.length === 0
      ? '# currencies: [EUR]   # without any, budgets and automated_bookings stay off'
      : `currencies: [${currencies.join(', ')}]`,
    'defaults:',
    '  every: 5m',
    ...(off.length === 0 ? [] : ['reports:', ...off]),
    '',
  ].join('\n')
}

/** Returns the variables in `.env` that already set the client secret and would be replaced. */
export function secretVariablesIn(there: string | undefined): readonly string[] {
  const names = Object.keys(parseEnv(there ?? ''))
  return names.filter((name) => name === 'REPORTING_CLIENT_SECRET' || name === 'REPORTING_CLIENT_SECRET_FILE')
}

/** Returns the new text of `.env` with the secret or the path of its file. All other lines are kept. */
export function secretsText({ secret }: Pick<Answers, 'secret'>, there: string | undefined): string {
  const line =
    secret instanceof Secret
      ? `REPORTING_CLIENT_SECRET=${quoted(secret.reveal())}`
      : `REPORTING_CLIENT_SECRET_FILE=${quoted(secret.file)}`
  const kept = (there ?? '')
    .split('\n')
    .filter((each) => !/^\s*(?:export\s+)?REPORTING_CLIENT_SECRET(?:_FILE)?\s*=/.test(each))
  const before = kept.join('\n').trimEnd()
  return before === '' ? `${line}\n` : `${before}\n${line}\n`
}

/** Throws USAGE_INVALID if no kind of quotes can contain the text. */
function quoted(text: string): string {
  const quote = ["'", '"', '`'].find((each) => !text.includes(each))
  const isPlain = !/[\r\n]/.test(text) && !(quote === '"' && text.includes('\\'))
  if (quote !== undefined && isPlain && parseEnv(`A=${quote}${text}${quote}`)['A'] === text) return quote + text + quote
  throw new SyncError('USAGE_INVALID', 'the secret has characters that can not be written into .env', {
    cure: 'Put it into a file of its own, and name that in REPORTING_CLIENT_SECRET_FILE.',
  })
}

export async function contentOf(folder: string, name: string): Promise<string | undefined> {
  return readFile(path.join(folder, name), 'utf8').catch(() => undefined)
}

/** Makes the file readable only by this user, even if an existing file had wider permissions. */
export async function writeSecrets(folder: string, text: string): Promise<void> {
  const file = path.join(folder, SECRETS_FILE)
  await chmod(file, 0o600).catch(() => undefined)
  await writeFile(file, text, { mode: 0o600 })
}

/** Returns false if `.gitignore` already has the entry. */
export async function ignoreSecrets(folder: string): Promise<boolean> {
  const there = (await contentOf(folder, IGNORE_FILE)) ?? ''
  const isThere = there.split('\n').some((line) => ['.env', '/.env', '.env*', '*.env'].includes(line.trim()))
  if (isThere) return false
  const before = there === '' || there.endsWith('\n') ? there : `${there}\n`
  await writeFile(path.join(folder, IGNORE_FILE), `${before}${SECRETS_FILE}\n`)
  return true
}
