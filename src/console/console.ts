/**
 * The console: a page and a small API over the operations of the worker, for whoever has the token. This file puts the
 * parts in their order: headers, gate, limits, then what is answered; it listens until it is closed.
 */
import cookie from '@fastify/cookie'
import rateLimit from '@fastify/rate-limit'
import fastify, { type FastifyInstance } from 'fastify'
import type { Requests } from '../../jobs/queue/requests.ts'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Secret } from '../secret.ts'
import { addressOf, checkReach } from './access/address.ts'
import { type GateParts, guard } from './access/gate.ts'
import { Guesses } from './access/guesses.ts'
import { addHeaders } from './access/headers.ts'
import { Sessions } from './access/sessions.ts'
import { newToken } from './access/token.ts'
import { actingEndpoints } from './api/acting.ts'
import { addEndpoints, type Endpoint } from './api/endpoint.ts'
import { openapiOf } from './api/openapi.ts'
import { readingEndpoints } from './api/reading.ts'
import { sessionEndpoints } from './api/session.ts'
import type { AllSettings, ConsoleBackend } from './backend.ts'
import { Errands } from './errands.ts'
import { answerFailures } from './failures.ts'
import { addHealth, type HealthParts } from './health.ts'
import { Live } from './live.ts'
import { addPages } from './pages.ts'
import { addQueues } from './queues.ts'

export interface ConsoleOptions extends Pick<HealthParts, 'isReady' | 'metricsText'> {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Undefined: one is made. */
  readonly token: Secret | undefined
  readonly version: string
  readonly clock: Clock
  readonly log: Log
  readonly requests: Pick<Requests, 'queue'>
  readonly settings: AllSettings
  readonly runLogs: string
  /** Who answers for the warehouse now. */
  readonly backendOf: () => ConsoleBackend
}

export interface Console extends AsyncDisposable {
  readonly address: string
  /** The one that was given, or the one that was made. */
  readonly token: Secret
  /** For tests: every route and its document. */
  readonly endpoints: readonly Endpoint[]
}

const BODY_BYTES_MAX = 16_384
const REQUEST_MS_MAX = 10_000
/** Requests of one address without a login; for a file of the page, of this file. */
const OPEN_REQUESTS_A_MINUTE = 600

/** Errors: CONFIG_INVALID for an address that may not be listened on; CONSOLE_PORT_TAKEN. */
export async function openConsole(options: ConsoleOptions): Promise<Console> {
  checkReach(options.host, options.token)
  const token = options.token ?? newToken()
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_MS_MAX,
    routerOptions: { maxParamLength: 200 },
    forceCloseConnections: true,
  })
  const errands = new Errands(options.clock, options.log)
  const gate: GateParts = {
    token,
    host: options.host,
    cookie: `tidemark_${options.port}`,
    sessions: new Sessions(options.clock),
    guesses: new Guesses(options.clock),
  }
  const { endpoints, live } = await answering(app, { options, gate, errands })
  const port = await listening(app, options)
  return {
    address: addressOf(options.host, port),
    token,
    endpoints,
    [Symbol.asyncDispose]: async () => {
      live.close()
      errands.close()
      await app.close()
    },
  }
}

interface Parts {
  readonly options: ConsoleOptions
  readonly gate: GateParts
  readonly errands: Errands
}

async function answering(app: FastifyInstance, { options, gate, errands }: Parts) {
  const { clock, log, backendOf, requests, version } = options
  // Pages and machines send JSON and nothing else.
  app.removeContentTypeParser('text/plain')
  answerFailures(app, log)
  await addHeaders(app)
  await app.register(cookie)
  guard(app, gate)
  await app.register(rateLimit, {
    max: OPEN_REQUESTS_A_MINUTE,
    timeWindow: '1 minute',
    allowList: ({ routeOptions }) => routeOptions.config?.open !== true,
  })
  const endpoints = [...sessionEndpoints(gate), ...readingEndpoints(options), ...actingEndpoints(errands)]
  const document = openapiOf(endpoints, version)
  const mayLook = (request: { session: string }) => request.session === '' || gate.sessions.isOpen(request.session)
  const live = new Live({ clock, backendOf, errands, mayLook })
  addEndpoints(app, endpoints, backendOf)
  app.get('/api/openapi.json', () => document)
  app.get('/api/live', (request, reply) => live.begin(request, reply))
  addHealth(app, options)
  await addPages(app)
  await addQueues(app, requests)
  return { endpoints, live }
}

async function listening(app: FastifyInstance, { host, port }: ConsoleOptions): Promise<number> {
  try {
    await app.listen({ host, port })
  } catch (thrown) {
    await app.close()
    throw notListening(thrown as NodeJS.ErrnoException, addressOf(host, port))
  }
  const bound = app.server.address()
  return typeof bound === 'object' && bound !== null ? bound.port : port
}

function notListening(thrown: NodeJS.ErrnoException, address: string): SyncError {
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
