/** A real HTTP server, a client of it, and a clock that sleeps in no time. By default, every response is a success. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ClientEvent, type ClientSettings, openClient, type ReportRequest } from '../../src/client/reporting.ts'
import type { SharedPauses, TokenStore } from '../../src/client/reporting.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import { fromMillis } from '../../src/instant.ts'
import { Secret } from '../../src/secret.ts'

export const CLIENT_SECRET = 'marked-"secret"/<&+%> ü'

export interface Call {
  path: string
  headers: IncomingMessage['headers']
  body: Record<string, unknown>
}

/** Answers the call with this number, from 1, of its kind. */
export type Reply = (response: ServerResponse, call: Call, number: number) => unknown

export interface Service extends AsyncDisposable {
  url: URL
  /** Calls in the order of their arrival. */
  reports: Call[]
  tokens: Call[]
  /** `atOnceMax` is the maximum number of concurrent requests. */
  seen: { connections: number; atOnceMax: number }
}

export const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(value))
  }

export const status =
  (code: number, body = '', headers: Record<string, string> = {}): Reply =>
  (response) => {
    response.writeHead(code, headers)
    response.end(body)
  }

/** The last reply is repeated. */
export const inTurn =
  (...replies: readonly Reply[]): Reply =>
  (response, call, number) =>
    replies[Math.min(number, replies.length) - 1]?.(response, call, number)

export const issueToken: Reply = (response, call, number) =>
  json({ accessToken: `marked-token-${number}`, expiresIn: 3600, tokenType: 'Bearer' })(response, call, number)

export async function aService({ report = json([]), token = issueToken }: { report?: Reply; token?: Reply } = {}) {
  const service: Omit<Service, 'url'> = {
    reports: [],
    tokens: [],
    seen: { connections: 0, atOnceMax: 0 },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  let atOnce = 0
  const server = createServer((request, response) => {
    atOnce += 1
    service.seen.atOnceMax = Math.max(service.seen.atOnceMax, atOnce)
    response.on('close', () => (atOnce -= 1))
    void take(request, response)
  })
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const call: Call = { path: request.url ?? '', headers: request.headers, body: JSON.parse(await text(request)) }
    const isToken = call.path.endsWith('/authenticationapi/Account/RequestToken')
    const calls = isToken ? service.tokens : service.reports
    calls.push(call)
    await (isToken ? token : report)(response, call, calls.length)
  }
  server.on('connection', () => (service.seen.connections += 1))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(service, { url: new URL(`http://127.0.0.1:${port}`) }) satisfies Service
}

/** Time passes only while somebody sleeps, and sleeping takes no real time. */
export class QuickClock implements Clock {
  readonly sleeps: number[] = []
  wallMs = Date.UTC(2026, 0, 1)
  elapsedMs = 1_000

  now() {
    return fromMillis(this.wallMs)
  }

  monotonicMs() {
    return this.elapsedMs
  }

  async sleep(ms: number, signal?: AbortSignal) {
    signal?.throwIfAborted()
    this.sleeps.push(ms)
    await systemClock.sleep(1, signal)
    this.pass(ms)
  }

  after() {
    return () => undefined
  }

  nextTurn() {
    return Promise.resolve()
  }

  random() {
    return 0.5
  }

  pass(ms: number) {
    this.wallMs += ms
    this.elapsedMs += ms
  }
}

export interface ClientOptions {
  settings?: Partial<ClientSettings>
  clock?: Clock
  tokenStore?: TokenStore
  sharedPauses?: SharedPauses
}

/** Creates a client with quick retries that stores its events. */
export function aClient(
  { url }: Pick<Service, 'url'>,
  { settings = {}, clock = new QuickClock(), tokenStore, sharedPauses }: ClientOptions = {},
) {
  const events: ClientEvent[] = []
  const client = openClient(
    {
      baseUrl: url,
      clientId: 'acme',
      clientSecret: new Secret(CLIENT_SECRET),
      concurrency: 4,
      ...settings,
      limits: { attemptsMax: 3, ...settings.limits },
    },
    { clock, tokenStore, sharedPauses, onEvent: (event) => events.push(event) },
  )
  return Object.assign(client, { events })
}

/** Returns a request for the events report, whose value is its rows. */
export function aRequest(changes: Partial<ReportRequest<unknown>> = {}): ReportRequest<unknown> {
  return {
    report: 'events',
    path: '/v1/EventReport/GetEventsReport',
    body: { modifiedSince: '2026-01-01T00:00:00Z', pageSize: 500 },
    parse: parseJson,
    ...changes,
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new SyncError('ANSWER_MALFORMED', 'the JSON is cut off', { cure: 'Try again.' })
  }
}

/** Returns the SyncError that a call rejects with. */
export async function failureOf(call: Promise<unknown>): Promise<SyncError> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome && outcome.error instanceof SyncError) return outcome.error
  throw new SyncError('UNEXPECTED', `no SyncError: ${JSON.stringify(outcome)}`, { cure: 'Mend the test.' })
}
