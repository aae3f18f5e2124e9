/** Reads the settings that `tidemark init` writes: from options, the environment, or prompts on a terminal. */
import path from 'node:path'
import { baseUrlProblem, currencyProblem } from '../../config/checks.ts'
import { listOf } from '../../config/environment.ts'
import { SyncError, usageError } from '../../errors.ts'
import { Secret } from '../../secret.ts'
import type { Shell } from '../shell.ts'

export interface InitSettings {
  readonly baseUrl?: string
  readonly clientId?: string
  readonly currencies?: string
  readonly warehouse?: string
}

export type Answers = Awaited<ReturnType<typeof answersOf>>

const trimmed = (text: string | undefined): string | undefined => (text?.trim() === '' ? undefined : text?.trim())

/** Throws USAGE_INVALID if a setting is missing and there is no terminal. */
export async function answersOf({ env, cwd, isInteractive }: Shell, given: InitSettings) {
  const file = trimmed(env['REPORTING_CLIENT_SECRET_FILE'])
  // The secret is not trimmed, because a space can be part of it.
  const direct = trimmed(env['REPORTING_CLIENT_SECRET']) === undefined ? undefined : env['REPORTING_CLIENT_SECRET']
  const known = {
    baseUrl: trimmed(given.baseUrl) ?? trimmed(env['REPORTING_BASE_URL']),
    clientId: trimmed(given.clientId) ?? trimmed(env['REPORTING_CLIENT_ID']),
    secret: file === undefined ? direct && new Secret(direct) : { file: path.resolve(cwd, file) },
    currencies: trimmed(given.currencies) ?? trimmed(env['TIDEMARK_CURRENCIES']),
    warehouse: trimmed(given.warehouse) ?? trimmed(env['TIDEMARK_WAREHOUSE']),
  }
  if (!isInteractive) refuseMissing(known)
  const { baseUrl, clientId, secret, currencies, warehouse } = known
  return {
    baseUrl: baseUrl ?? (await PROMPTS.baseUrl()).trim(),
    clientId: clientId ?? (await PROMPTS.clientId()).trim(),
    secret: secret || (await promptSecret()),
    currencies: listOf(currencies ?? (isInteractive ? await PROMPTS.currencies() : '')),
    warehouse,
  }
}

function refuseMissing(known: Readonly<Record<'baseUrl' | 'clientId' | 'secret', unknown>>): void {
  const ways = [
    [known.baseUrl, '--base-url (or REPORTING_BASE_URL)'],
    [known.clientId, '--client-id (or REPORTING_CLIENT_ID)'],
    [known.secret, 'REPORTING_CLIENT_SECRET or REPORTING_CLIENT_SECRET_FILE in the environment'],
  ] as const
  const missing = ways.filter(([value]) => value === undefined || value === '').map(([, way]) => way)
  if (missing.length === 0) return
  const cure = `Give ${missing.join(', ')}; or run "tidemark init --help".`
  throw usageError('some settings are missing, and there is no terminal to ask for them', cure)
}

const requireText = (text: string): string | true => (text.trim() === '' ? 'Please give one' : true)

const PROMPTS = {
  baseUrl: () =>
    promptFor(({ input }) =>
      input({ message: 'Address of the reporting service', validate: (text) => baseUrlProblem(text.trim()) ?? true }),
    ),
  clientId: () => promptFor(({ input }) => input({ message: 'Client identifier', validate: requireText })),
  secret: () => promptFor(({ password }) => password({ message: 'Client secret', mask: '*', validate: requireText })),
  currencies: () =>
    promptFor(({ input }) =>
      input({
        message: 'Currencies, such as EUR,USD (none: budgets and bookings stay off)',
        validate: (text) => listOf(text).map(currencyProblem).find(Boolean) ?? true,
      }),
    ),
}

export const promptSecret = async (): Promise<Secret> => new Secret(await PROMPTS.secret())

export const promptYesOrNo = async ({ isInteractive }: Shell, message: string, preselected = false): Promise<boolean> =>
  isInteractive && promptFor(({ confirm }) => confirm({ message, default: preselected }))

/** Asks for a setting. Imports the prompts package only here, so that other commands start fast. */
export async function promptFor<T>(ask: (prompts: typeof import('@inquirer/prompts')) => Promise<T>, command = 'init') {
  try {
    return await ask(await import('@inquirer/prompts'))
  } catch (error) {
    throw new SyncError('CANCELLED', 'nothing was written', { cure: `Run "tidemark ${command}" again.`, cause: error })
  }
}
