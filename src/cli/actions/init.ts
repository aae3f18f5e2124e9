/** `tidemark init`: asks for the settings, tries them against the service, and writes them to files. */
import { randomUUID } from 'node:crypto'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { isReportName, type ReportName } from '../../../schema/index.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import { usageError } from '../../errors.ts'
import { createLog } from '../../log.ts'
import { Secret } from '../../secret.ts'
import { type Finding, findingsText } from '../check/finding.ts'
import { checkNetwork } from '../check/network.ts'
import { checkService } from '../check/service.ts'
import { type Answers, answersOf, promptSecret, promptYesOrNo, type InitSettings } from '../init/answers.ts'
import { clientOf } from '../../wiring/openContext.ts'
import { widthOf } from '../layout.ts'
import type { Action, Shell } from '../shell.ts'
import { logLevelOf } from '../../wiring/workLog.ts'

const SETTINGS_FILE = 'tidemark.yaml'
const SECRETS_FILE = '.env'
const IGNORE_FILE = '.gitignore'

type Unreadable = ReadonlyMap<ReportName, string>

export interface InitOptions extends InitSettings {
  readonly force?: boolean
  readonly try?: boolean
}

export const init: Action<InitOptions> = async (shell, options) => {
  const { out, cwd } = shell
  await refuseToReplace(shell, options)
  const tested = await tryOut(shell, await answersOf(shell, options), options)
  if (tested === undefined) return 1
  const { answers, findings } = tested
  const secrets = secretsText(answers, await contentOf(cwd, SECRETS_FILE))
  await writeFile(path.join(cwd, SETTINGS_FILE), settingsText(answers, unreadableIn(findings)))
  await writeSecrets(cwd, secrets)
  const isAdded = await ignoreSecrets(cwd)
  const off = [...unreadableIn(findings).keys()]
  out.write(`wrote ${SETTINGS_FILE} and ${SECRETS_FILE} (mode 600${isAdded ? ', added to .gitignore' : ''})\n`)
  if (off.length > 0)
    out.write(
      `switched off, since this client may not read them: ${off.join(', ')} (once it may, take their lines out of ${SETTINGS_FILE})\n`,
    )
  out.write(
    '\nNext:\n  npx tidemark sync events   # one report first\n  npx tidemark worker        # then all of them, regularly\n',
  )
  return 0
}

async function refuseToReplace(shell: Shell, { force = false }: InitOptions): Promise<void> {
  if (force) return
  const settings = await contentOf(shell.cwd, SETTINGS_FILE)
  const replaced = secretVariablesIn(await contentOf(shell.cwd, SECRETS_FILE))
  const there = [
    ...(settings === undefined ? [] : [SETTINGS_FILE]),
    ...(replaced.length === 0 ? [] : [`${replaced.join(' and ')} in ${SECRETS_FILE}`]),
  ].join(', and ')
  if (there === '' || (await promptYesOrNo(shell, `Replace ${there}?`))) return
  throw usageError(`nothing was written: ${there} would be replaced`, 'Move it away, or run "tidemark init --force".')
}

/** Tries the settings. Returns undefined if they do not work and the user does not want to write them. */
async function tryOut(shell: Shell, answers: Answers, options: InitOptions) {
  const { out, clock, stop } = shell
  const config = await configWith(shell, answers)
  if (options.try === false) return { answers, findings: [] }
  const log = createLog({ level: logLevelOf(shell.env, 'error') })
  await using client = clientOf(config, { clock, log, attemptsMax: 2 })
  out.write('Trying it…\n')
  const network = await checkNetwork(config, clock)
  const service = network.verdict === 'fail' ? [] : await checkService({ config, client, clock, signal: stop.signal })
  const findings = [network, ...service]
  out.write(findingsText(findings, widthOf(out)))
  const isLost = findings.some(({ check, verdict }) => verdict === 'fail' && (check === 'network' || check === 'token'))
  if (!isLost) return { answers, findings }
  const isRefused = findings.some(({ code }) => code === 'CREDENTIALS_REFUSED')
  if (isRefused && canTypeSecret(shell) && (await promptYesOrNo(shell, 'Enter another client secret?', true)))
    return tryOut(shell, { ...answers, secret: await promptSecret() }, options)
  if (options.force === true || (await promptYesOrNo(shell, 'It does not work yet. Write the files all the same?')))
    return { answers, findings }
  out.write('\nNothing was written. Correct what failed and run init again, or skip the tests with --no-try.\n')
  return undefined
}

/** Returns whether to ask for the secret. A secret in the environment would override a typed one. */
const canTypeSecret = ({ env, isInteractive }: Shell): boolean =>
  isInteractive && !env['REPORTING_CLIENT_SECRET']?.trim() && !env['REPORTING_CLIENT_SECRET_FILE']?.trim()

function configWith({ env }: Shell, { baseUrl, clientId, secret, currencies }: Answers): Promise<Config> {
  const given = {
    REPORTING_BASE_URL: baseUrl,
    REPORTING_CLIENT_ID: clientId,
    ...(secret instanceof Secret
      ? { REPORTING_CLIENT_SECRET: secret.reveal() }
      : { REPORTING_CLIENT_SECRET_FILE: secret.file }),
    ...(currencies.length > 0 && { TIDEMARK_CURRENCIES: currencies.join(',') }),
    REPORTING_SCOPES: env['REPORTING_SCOPES'],
  }
  return loadConfig({ env: given, cwd: path.join(tmpdir(), `tidemark-init-${randomUUID()}`) })
}

const REFUSALS: readonly (string | undefined)[] = ['SCOPE_MISSING', 'REPORT_FORBIDDEN']

function unreadableIn(findings: readonly Finding[]): Unreadable {
  return new Map(
    findings.flatMap(({ check, code }): [ReportName, string][] =>
      isReportName(check) && REFUSALS.includes(code) ? [[check, code ?? '']] : [],
    ),
  )
}

function settingsText({ baseUrl, clientId, currencies, warehouse }: Answers, unreadable: Unreadable): string {
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
    '# Every report runs, listed under reports or not, unless it has enabled: false there.',
    'defaults:',
    '  every: 5m',
    ...(off.length === 0 ? [] : ['reports:', ...off]),
    '',
  ].join('\n')
}

function secretVariablesIn(there: string | undefined): readonly string[] {
  const names = Object.keys(parseEnv(there ?? ''))
  return names.filter((name) => name === 'REPORTING_CLIENT_SECRET' || name === 'REPORTING_CLIENT_SECRET_FILE')
}

function secretsText({ secret }: Pick<Answers, 'secret'>, there: string | undefined): string {
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

function quoted(text: string): string {
  const quote = ["'", '"', '`'].find((each) => !text.includes(each))
  const isPlain = !/[\r\n]/.test(text) && !(quote === '"' && text.includes('\\'))
  if (quote !== undefined && isPlain && parseEnv(`A=${quote}${text}${quote}`)['A'] === text) return quote + text + quote
  const cure = 'Put it into a file of its own, and name that in REPORTING_CLIENT_SECRET_FILE.'
  throw usageError('the secret has characters that can not be written into .env', cure)
}

async function contentOf(folder: string, name: string): Promise<string | undefined> {
  return readFile(path.join(folder, name), 'utf8').catch(() => undefined)
}

/** Writes the secrets to a file that only this user can read, even if an existing file had wider permissions. */
async function writeSecrets(folder: string, text: string): Promise<void> {
  const file = path.join(folder, SECRETS_FILE)
  await chmod(file, 0o600).catch(() => undefined)
  await writeFile(file, text, { mode: 0o600 })
}

async function ignoreSecrets(folder: string): Promise<boolean> {
  const there = (await contentOf(folder, IGNORE_FILE)) ?? ''
  const isThere = there.split('\n').some((line) => ['.env', '/.env', '.env*', '*.env'].includes(line.trim()))
  if (isThere) return false
  const before = there === '' || there.endsWith('\n') ? there : `${there}\n`
  await writeFile(path.join(folder, IGNORE_FILE), `${before}${SECRETS_FILE}\n`)
  return true
}
