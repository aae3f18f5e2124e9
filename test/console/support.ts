/** A worker with its console in a process of its own, a sandbox that it reads, and a client of the console. */
import { once } from 'node:events'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import type { SandboxOptions } from '../../src/sandbox/server.ts'
import { aWorkshop, linesOf, OWNS, reportsOnly, type Store, until, type Workshop } from '../jobs/support.ts'
import type { Running } from '../cli/support.ts'

export const TOKEN = 'marked-console-token-"0123456789"'
/** The token of users who may only read. */
export const VIEW_TOKEN = 'marked-view-token-0123456789'

export interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

export interface Knock {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Tests send thousands of guesses over few connections. */
const agent = new Agent({ keepAlive: true, maxSockets: 16 })

export interface Consoled extends AsyncDisposable {
  readonly workshop: Workshop
  readonly worker: Running
  readonly url: string
  /** Sends a request with exactly this path. */
  knock(path: string, knock?: Knock): Promise<Seen>
  /** Sends a request with the token. With a body, the request is a POST. */
  ask<T = Answered>(path: string, body?: object): Promise<T>
  /** Waits until the work has ended. */
  endOf(begun: Errand): Promise<Errand>
  /** Starts the work and waits until it has ended. */
  carryOut(path: string, body: object): Promise<Errand>
}

/** The fields of an operation that tests read. */
export interface Errand {
  readonly id: string
  readonly status: number
  readonly state: string
  readonly outcomes: readonly { readonly report: string; readonly state: string; readonly text: string }[]
}

/** The body of a response. */
export type Answered = Record<string, never> & { readonly status: number }

export interface ConsoledOptions {
  /** The default is Redis, because the embedded queue starts more slowly. */
  readonly store?: Store
  readonly sandbox?: SandboxOptions
  readonly settings?: Readonly<Record<string, unknown>>
  /** Called before the worker starts. */
  readonly before?: (workshop: Workshop) => Promise<unknown>
}

export async function aConsole({
  store = 'redis',
  sandbox,
  settings,
  before,
}: ConsoledOptions = {}): Promise<Consoled> {
  const workshop = await aWorkshop({
    store,
    env: { TIDEMARK_CONSOLE_TOKEN: TOKEN, TIDEMARK_CONSOLE_VIEW_TOKEN: VIEW_TOKEN },
    ...(sandbox && { sandbox }),
    ...(settings && { settings }),
  })
  await before?.(workshop)
  const worker = workshop.worker()
  const lineOf = (words: string) => linesOf(worker).find(({ msg }) => msg.includes(words))
  await until(() => lineOf(OWNS) !== undefined)
  const url = (lineOf('the console listens') as unknown as { address: string }).address
  const ask = async <T>(path: string, body?: object): Promise<T> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const headers = { authorization: `Bearer ${TOKEN}`, ...(body && { 'content-type': 'application/json' }) }
    const response = await fetch(`${url}${path}`, { ...init, headers })
    return { status: response.status, ...((await response.json()) as object) } as T
  }
  const endOf = async (begun: Errand): Promise<Errand> => {
    let errand = begun
    await until(async () => {
      if (errand.state === 'running') errand = await ask<Errand>(`/api/errands/${errand.id}`)
      return errand.state !== 'running'
    })
    return errand
  }
  return {
    workshop,
    worker,
    url,
    knock: (path, knock) => knockAt(url, path, knock),
    ask,
    endOf,
    carryOut: async (path, body) => endOf(await ask<Errand>(path, body)),
    [Symbol.asyncDispose]: () => workshop[Symbol.asyncDispose](),
  }
}

const FULL = {
  // No run and no count begins by itself.
  defaults: { every: '24d', reconcile_every: 'never', deletes_every: 'never', page_size: 50 },
  reports: reportsOnly({ events: {}, enquiries: {}, office_reservations: {} }),
}
/** Starts a console of three reports. One of them has rejected rows that can be stored now. */
export async function aFullConsole(): Promise<Consoled> {
  const console = await aConsole({
    sandbox: { rows: 120, seed: 11, collections: true },
    settings: FULL,
    // Rows with new fields are rejected until the setting changes.
    before: async (shop) => {
      const contract = { ...FULL.reports, enquiries: { schema_contract: 'reject' } }
      await shop.configure({ ...FULL, reports: contract })
      await shop.run('sync', 'enquiries')
      await shop.configure(FULL)
    },
  })
  await console.carryOut('/api/sync', { reports: ['events'] })
  return console
}

export async function knockAt(
  url: string,
  path: string,
  { method = 'GET', headers = {}, body }: Knock = {},
): Promise<Seen> {
  const { hostname, port } = new URL(url)
  // Node sends the body of a DELETE without its length.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const sent = httpRequest({ host: hostname, port, method, path, headers: { ...length, ...headers }, agent })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
}

/** Logs in as the page does, and returns the cookie. */
export async function cookieOf(console: Consoled): Promise<string> {
  const { status, headers } = await console.knock('/api/session', login(TOKEN))
  if (status !== 200) throw new TypeError(`the login answered ${status}`)
  return String(headers['set-cookie']?.[0]).split(';')[0] ?? ''
}

export const login = (token: string): Knock => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-tidemark-console': '1' },
  body: JSON.stringify({ token }),
})
