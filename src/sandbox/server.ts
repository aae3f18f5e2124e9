/** A local HTTP service that implements the specification. It shares no code with the client that it tests. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SyncError } from '../errors.ts'
import { MICROS_PER_SECOND, type Instant } from '../instant.ts'
import { plainStatus } from './answer.ts'
import { Auth } from './auth.ts'
import { controlAnswer, controlsOf } from './control.ts'
import { Faults, type FaultPlace } from './faults.ts'
import { settingsFrom, type SandboxOptions, type Settings } from './options.ts'
import { RequestLog } from './requestLog.ts'
import { routeOf } from './reports/index.ts'
import { Sender } from './send.ts'
import { type ReceivedRequest, type ServedResponse, Service } from './service.ts'
import { TICKS_PER_MS, ticksOf, type Ticks } from './ticks.ts'
import { World } from './world.ts'

export { ENDPOINTS, ENTITY_IDS, type ReportName, WORLD_REPORTS, type WorldReport } from './reports/index.ts'
export type { SandboxClient, SandboxOptions } from './options.ts'
export type { LoggedRequest, RequestLog } from './requestLog.ts'
export type { WorldChange } from './changes.ts'
export type { TrailEntry } from './auditTrail.ts'
export type { World } from './world.ts'

export interface Sandbox extends AsyncDisposable {
  readonly url: string
  readonly world: World
  readonly requests: RequestLog
  setFaults(faults: readonly string[]): void
  setChangesPerSecond(perSecond: number): void
  close(): Promise<void>
}

const TOKEN_PATH = '/authenticationapi/Account/RequestToken'
const CONTROL_PREFIX = '/_control/'
/** Clients close idle connections earlier than this server. So the server never closes a connection in use. */
const KEEP_ALIVE_MS = 65_000

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = settingsFrom(options)
  const parts = assemble(settings)
  const { world, requests, controls, closing } = parts
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, handler(parts))
  const url = await listen(server, settings.port)
  controls.setPace(settings.changesPerSecond)
  const close = async (): Promise<void> => {
    controls.setPace(0)
    closing.abort()
    await stop(server)
  }
  const { setFaults, setPace: setChangesPerSecond } = controls
  return { url, world, requests, setFaults, setChangesPerSecond, close, [Symbol.asyncDispose]: close }
}

function assemble(settings: Settings) {
  const { clock, compress, rows, seed, timeStyle, amounts } = settings
  const faults = new Faults(settings.faults)
  const micros = (): number => clock.now() + Number(faults.peek('skew') ?? 0) * MICROS_PER_SECOND
  const nowSeconds = (): number => Math.floor(micros() / MICROS_PER_SECOND)
  const now = (): Ticks => ticksOf(micros() as Instant)
  const rules = { items: settings.itemsPerCollection, filled: settings.collections }
  const back = (): Ticks => Number(faults.peek('stamps-back') ?? 0) * 1_000 * TICKS_PER_MS
  const world = new World({ rows, seed, now, back, rules, timeStyle, amounts })
  const auth = new Auth({ settings, faults, nowSeconds })
  const closing = new AbortController()
  const requests = new RequestLog()
  return {
    service: new Service({ world, settings, faults, auth, closing: closing.signal }),
    sender: new Sender({ clock, faults, compress, nowSeconds }),
    controls: controlsOf({ world, faults, clock, requests }),
    world,
    requests,
    closing,
    clock,
  }
}

type Parts = ReturnType<typeof assemble>

function handler(parts: Parts): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    handle(parts, request, response).catch((error: unknown) => {
      if (parts.closing.signal.aborted) return
      // Prints an unexpected error, so that it cannot be confused with a requested fault.
      process.emitWarning(error instanceof Error ? error : String(error))
      response.destroy()
    })
  }
}

async function handle(parts: Parts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] ?? '/'
  const method = request.method ?? 'GET'
  const body = await text(request).catch(() => undefined)
  if (body === undefined) return
  const acceptEncoding = request.headers['accept-encoding'] ?? ''
  if (path.startsWith(CONTROL_PREFIX)) {
    const answer = controlAnswer(parts.controls, { call: `${method} ${path.slice(CONTROL_PREFIX.length)}`, text: body })
    return parts.sender.send(answer, { response, place: undefined, acceptEncoding })
  }
  const { authorization } = request.headers
  const { place, answer, ...logged } = await serve(parts, path, { method, authorization, body })
  const isToken = place === 'token'
  parts.requests.add({ at: parts.clock.now(), path, status: answer.status, body: isToken ? '' : body, ...logged })
  await parts.sender.send(answer, { response, place, acceptEncoding })
}

async function serve(
  { service }: Parts,
  path: string,
  received: ReceivedRequest,
): Promise<ServedResponse & { readonly place?: FaultPlace }> {
  if (path === TOKEN_PATH) return { ...(await service.token(received)), place: 'token' }
  const route = routeOf(path)
  if (route === undefined) return { answer: plainStatus(404, 'Not found'), problems: [] }
  return { ...(await service.report(route, received)), place: route.endpoint.report }
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
