/** Assembles the console's server from headers, access checks, rate limit and routes. */
import cookie from '@fastify/cookie'
import rateLimit from '@fastify/rate-limit'
import fastify, { type FastifyInstance } from 'fastify'
import { within } from '../clock.ts'
import { SyncError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Reader } from '../reader/reader.ts'
import type { Secret } from '../secret.ts'
import { addressOf, checkTokens } from './access/address.ts'
import { addSessionRoutes, guard, guessCounter, newToken } from './access/gate.ts'
import { addHeaders, addPageFiles } from './pageFiles.ts'
import { openSessions } from './access/sessions.ts'
import { addActionRoutes } from './api/actionRoutes.ts'
import { createApi } from './api/api.ts'
import { addQueryRoutes } from './api/queryRoutes.ts'
import { addReadRoutes, type ReadOptions } from './api/readRoutes.ts'
import { answerFailures } from './failures.ts'
import { addLiveRoute } from './live.ts'

export interface ConsoleOptions extends ReadOptions {
  readonly host: string
  /** The port to listen on. If it is 0, the system chooses a free port. */
  readonly port: number
  /** The token for all actions. If undefined, the console creates a token. */
  readonly token?: Secret | undefined
  readonly viewToken?: Secret | undefined
  /** Addresses of proxies whose header `X-Forwarded-For` names the client. Example: `['10.0.0.0/8']`. */
  readonly proxies?: readonly string[]
  readonly version: string
  readonly log: Log
  readonly newReader: () => Reader
  readonly isReady: () => Promise<boolean>
  readonly metricsText?: (() => Promise<{ readonly contentType: string; readonly body: string }>) | undefined
}

export interface Console extends AsyncDisposable {
  readonly address: string
  readonly token: Secret
}

const BODY_BYTES_MAX = 16_384
const REQUEST_MS_MAX = 10_000
const REQUEST_CHECK_EVERY_MS = 1_000
/** Maximum requests per minute and client address on routes without a login, such as `/login`. */
const OPEN_REQUESTS_A_MINUTE = 600

/** Starts the server. Throws CONSOLE_PORT_TAKEN, or CONFIG_INVALID for an unusable address or token. */
export async function openConsole(options: ConsoleOptions): Promise<Console> {
  checkTokens(options.host, options)
  const token = options.token ?? newToken()
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    trustProxy: [...(options.proxies ?? [])],
    requestTimeout: REQUEST_MS_MAX,
    http: { headersTimeout: REQUEST_MS_MAX, connectionsCheckingInterval: REQUEST_CHECK_EVERY_MS },
    routerOptions: { maxParamLength: 200 },
    forceCloseConnections: true,
  })
  await app.register(rateLimit, {
    max: OPEN_REQUESTS_A_MINUTE,
    timeWindow: '1 minute',
    allowList: ({ routeOptions }) => routeOptions.config?.open !== true,
  })
  await addRoutes(app, { ...options, token })
  const port = await listen(app, options)
  return { address: addressOf(options.host, port), token, [Symbol.asyncDispose]: () => app.close() }
}

async function addRoutes(app: FastifyInstance, options: ConsoleOptions & { readonly token: Secret }): Promise<void> {
  const { clock, log, backendOf, version, token, viewToken, host, port } = options
  const sessions = openSessions(clock)
  const gate = { token, viewToken, host, cookie: `tidemark_${port}`, sessions, countGuess: guessCounter(app) }
  // Fastify accepts plain text by default, but the API accepts only JSON.
  app.removeContentTypeParser('text/plain')
  answerFailures(app, log)
  await addHeaders(app)
  await app.register(cookie)
  guard(app, gate)
  const api = await createApi(app, version)
  addSessionRoutes(api, gate)
  addReadRoutes(api, options)
  addQueryRoutes(api, options.newReader)
  addActionRoutes(api, options)
  const mayWatch = ({ session }: { session: string }) => session === '' || sessions.accessOf(session) !== undefined
  addLiveRoute(app, { clock, backendOf, mayWatch })
  addHealth(app, options)
  await addPageFiles(app)
}

async function listen(app: FastifyInstance, { host, port }: ConsoleOptions): Promise<number> {
  try {
    await app.listen({ host, port })
  } catch (thrown) {
    await app.close()
    throw listenError(thrown as NodeJS.ErrnoException, addressOf(host, port))
  }
  const bound = app.server.address()
  return typeof bound === 'object' && bound !== null ? bound.port : port
}

function listenError(thrown: NodeJS.ErrnoException, address: string): SyncError {
  if (thrown.code === 'EADDRINUSE') {
    return new SyncError('CONSOLE_PORT_TAKEN', `another program listens at ${address} already`, {
      cure: 'Set TIDEMARK_CONSOLE_PORT (console.port) to a free port, 0 for any, or start this worker without the console: --roles pull,load,schedule',
      cause: thrown,
    })
  }
  return new SyncError('CONFIG_INVALID', `the console can't listen at ${address}: ${thrown.message}`, {
    cure: 'Set console.host to an address of this machine and console.port to a port that this user may open.',
    cause: thrown,
  })
}

const READY_MS_MAX = 2_000

function addHealth(app: FastifyInstance, { clock, isReady, metricsText }: ConsoleOptions): void {
  app.get('/healthz', { config: { open: true } }, async () => ({ status: 'ok' }))
  app.get('/readyz', { config: { open: true } }, async (_, reply) => {
    const ready = await within(READY_MS_MAX, clock, () => isReady().catch(() => false))
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready' })
  })
  if (metricsText === undefined) return
  app.get('/metrics', async (_, reply) => {
    const { contentType, body } = await metricsText()
    return reply.type(contentType).send(body)
  })
}
