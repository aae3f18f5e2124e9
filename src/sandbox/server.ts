/** A local service that implements the specification. It shares no code with the client. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SyncError } from '../errors.ts'
import { MICROS_PER_SECOND, type Instant } from '../instant.ts'
import { onAbort } from '../signals.ts'
import { Auth } from './auth.ts'
import { answerControl, createChangeTimer, type ChangeTimer } from './control.ts'
import { type FaultName, Faults } from './faults.ts'
import { DEMO_CLIENT, type SandboxState, settingsFrom, type SandboxOptions, type Settings } from './options.ts'
import { RequestLog } from './requestLog.ts'
import { send } from './send.ts'
import { serve } from './service.ts'
import { TICKS_PER_SECOND, ticksOf } from './ticks.ts'
import { World } from './world.ts'

import { serveDeclared } from './reports/index.ts'
export { ENDPOINTS, ENTITY_IDS, type ReportName, WORLD_REPORTS, type WorldReport } from './reports/index.ts'
export type { SandboxClient, SandboxOptions } from './options.ts'
export type { LoggedRequest, RequestLog } from './requestLog.ts'
export type { TrailEntry } from './table.ts'
export type { World, WorldChange } from './world.ts'

/** A running local reporting service. */
export interface Sandbox extends AsyncDisposable {
  /** The address of the service. Example: `http://127.0.0.1:41823`. */
  readonly url: string
  /** The environment variables that make Tidemark read from this sandbox. */
  readonly env: Readonly<Record<'REPORTING_BASE_URL' | 'REPORTING_CLIENT_ID' | 'REPORTING_CLIENT_SECRET', string>>
  /** @internal */
  readonly world: World
  /** @internal */
  readonly requests: RequestLog
  /** Replaces the faults. Example: `['5xx*3@events', 'slow:50']`. */
  setFaults(faults: readonly string[]): void
  setChangesPerSecond(perSecond: number): void
  /** Stops the service. */
  close(): Promise<void>
}

const CONTROL_PREFIX = '/_control/'
/** Longer than the client's limit. Otherwise the sandbox could close a connection that the client is using. */
const KEEP_ALIVE_MS = 65_000

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = settingsFrom(options)
  serveDeclared(settings.declared)
  const closing = new AbortController()
  const state = assemble(settings, closing.signal)
  const { world, requests, faults } = state
  const timer = createChangeTimer(settings.clock, world)
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, handler(state, timer))
  const url = await listen(server, settings.port)
  timer.set(settings.changesPerSecond)
  const close = async (): Promise<void> => {
    timer.set(0)
    closing.abort()
    await stop(server)
  }
  const { clientId, clientSecret } = settings.clients[0] ?? DEMO_CLIENT
  if (settings.signal !== undefined) onAbort(settings.signal, () => void close())
  return {
    url,
    env: { REPORTING_BASE_URL: url, REPORTING_CLIENT_ID: clientId, REPORTING_CLIENT_SECRET: clientSecret },
    world,
    requests,
    setFaults: (texts) => faults.set(texts),
    setChangesPerSecond: (perSecond) => timer.set(perSecond),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function assemble(settings: Settings, closing: AbortSignal): SandboxState {
  const faults = new Faults(settings.faults)
  const numberOf = (fault: FaultName): number => Number(faults.peek(fault) ?? 0)
  const micros = (): number => settings.clock.now() + numberOf('skew') * MICROS_PER_SECOND
  const world = new World(settings, {
    now: () => ticksOf(micros() as Instant),
    back: () => numberOf('stamps-back') * TICKS_PER_SECOND,
    rateTable: () => numberOf('fx'),
  })
  const nowSeconds = (): number => Math.floor(micros() / MICROS_PER_SECOND)
  return { settings, faults, world, requests: new RequestLog(), nowSeconds, closing }
}

function handler(
  state: SandboxState,
  timer: ChangeTimer,
): (request: IncomingMessage, response: ServerResponse) => void {
  const auth = new Auth(state)
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/', headers } = request
    const path = url.split('?')[0] ?? '/'
    const body = await text(request).catch(() => undefined)
    if (body === undefined) return
    const acceptEncoding = headers['accept-encoding'] ?? ''
    if (path.startsWith(CONTROL_PREFIX)) {
      const call = `${method} ${path.slice(CONTROL_PREFIX.length)}`
      return send(state, answerControl(state, timer, { call, text: body }), {
        response,
        place: undefined,
        acceptEncoding,
      })
    }
    const received = { method, path, authorization: headers.authorization, text: body }
    const { place, answer, problems = [], client } = await serve(state, auth, received)
    const { status } = answer
    const logged = { at: state.settings.clock.now(), path, status, body: place === 'token' ? '' : body, problems }
    state.requests.add({ ...logged, ...(client !== undefined && { client }) })
    await send(state, answer, { response, place, acceptEncoding })
  }
  return (request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (state.closing.aborted) return
      // Prints an unexpected error. Otherwise the closed connection would look like a fault that a test requested.
      process.emitWarning(error instanceof Error ? error : String(error))
      response.destroy()
    })
  }
}

async function listen(server: Server, port: number): Promise<string> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch((cause: Error) => {
    const cure = 'Set another port, or 0 for any free port.'
    throw new SyncError('USAGE_INVALID', `the sandbox can't listen on port ${port}: ${cause.message}`, { cure, cause })
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await closed
}
