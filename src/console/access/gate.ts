/** Checks access before a route runs. Uses the route's options, not its URL: several URLs can reach one route. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { asSyncError, SyncError } from '../../errors.ts'
import { MINUTE_MS } from '../../instant.ts'
import { Secret } from '../../secret.ts'
import { sendFailure } from '../failures.ts'
import { isOurName } from './address.ts'
import { type Access, digestOf, type Sessions } from './sessions.ts'
import { z } from 'zod'
import { type Api, answers } from '../api/api.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly open?: boolean
    /** If true, requests with the view token may use this route, although its method is not GET. */
    readonly forViewers?: boolean
  }
  interface FastifyRequest {
    /** The identifier of the login session. It is empty if the request has a token instead of a session. */
    session: string
    mayAct: boolean
  }
}

export interface GateOptions {
  readonly token: Secret
  readonly viewToken: Secret | undefined
  readonly host: string
  readonly cookie: string
  readonly sessions: Sessions
  readonly countGuess: ReturnType<typeof guessCounter>
}

/** A header that each action requires. The page sends it, and forms and images on other sites cannot send it. */
export const OWN_HEADER = 'x-tidemark-console'

const READ_METHODS: readonly string[] = ['GET', 'HEAD']

export function guard(app: FastifyInstance, gate: GateOptions): void {
  app.decorateRequest('session', '')
  app.decorateRequest('mayAct', false)
  app.addHook('onRequest', async (request, reply) => {
    const failure = await failureOf(gate, request)
    if (failure === 'login') await reply.redirect(request.url === '/' ? '/login' : `/login#${request.url}`, 302)
    else if (failure !== undefined) await sendFailure(reply, failure)
  })
}

async function failureOf(gate: GateOptions, request: FastifyRequest): Promise<SyncError | 'login' | undefined> {
  // Returns errors instead of throwing them, because a plugin's error handler could send another response.
  try {
    if (await hasAccess(gate, request)) return undefined
  } catch (thrown) {
    return asSyncError(thrown)
  }
  return wantsPage(request) ? 'login' : loginNeededError()
}

async function hasAccess(gate: GateOptions, request: FastifyRequest): Promise<boolean> {
  if (!isOurName(request.headers.host, gate.host)) throw refusedError('its Host header does not name this console')
  const machine = bearerOf(request)
  if (!READ_METHODS.includes(request.method)) checkOrigin(request, machine !== undefined)
  if (request.routeOptions.config?.open === true) return true
  const session = request.cookies[gate.cookie] ?? ''
  const access = machine === undefined ? gate.sessions.accessOf(session) : await checkToken(gate, request, machine)
  if (access === undefined) return false
  if (machine === undefined) request.session = session
  request.mayAct = access === 'act'
  if (access === 'look' && !READ_METHODS.includes(request.method) && request.routeOptions.config?.forViewers !== true)
    throw new SyncError('CONSOLE_REFUSED', 'the request was refused: this token may only look', {
      cure: 'Log in with TIDEMARK_CONSOLE_TOKEN to act.',
    })
  return true
}

const loginNeededError = (): SyncError =>
  new SyncError('CONSOLE_LOGIN_NEEDED', 'nobody is logged in', {
    cure: 'Log in at /login with the token of the console, or send it as "Authorization: Bearer …".',
  })

async function checkToken(gate: GateOptions, request: FastifyRequest, guess: string): Promise<Access> {
  const { token, viewToken, countGuess } = gate
  if (isToken(token, guess)) return 'act'
  if (viewToken !== undefined && isToken(viewToken, guess)) return 'look'
  const cure = 'Use the token that the worker printed when it started, or of TIDEMARK_CONSOLE_TOKEN.'
  const retryAfterSeconds = await countGuess(request)
  if (retryAfterSeconds === 0)
    throw new SyncError('CONSOLE_LOGIN_NEEDED', 'this is not the token of the console', { cure })
  throw new SyncError('CONSOLE_LIMITED', 'too many wrong tokens were sent', { cure, data: { retryAfterSeconds } })
}

/** Maximum number of wrong tokens per minute and address; then CONSOLE_LIMITED. A correct token is always accepted. */
const GUESSES_PER_ADDRESS_MAX = 10
const GUESSES_TOTAL_MAX = 100
/** The number of addresses whose wrong tokens are counted. */
const ADDRESSES_MAX = 10_000

/** Returns a function that counts one wrong token per call. It returns 0 or, after too many, the seconds to wait. */
export function guessCounter(app: FastifyInstance): (request: FastifyRequest) => Promise<number> {
  const common = { timeWindow: MINUTE_MS, cache: ADDRESSES_MAX, allowList: [] }
  const limits = [
    app.createRateLimit({ ...common, max: GUESSES_PER_ADDRESS_MAX }),
    app.createRateLimit({ ...common, max: GUESSES_TOTAL_MAX, keyGenerator: () => 'all addresses' }),
  ]
  return async (request) => {
    for (const countIn of limits) {
      const count = await countIn(request)
      if (!count.isAllowed && count.isExceeded) return count.ttlInSeconds
    }
    return 0
  }
}

const TOKEN_BYTES = 24

export const newToken = (): Secret => new Secret(randomBytes(TOKEN_BYTES).toString('base64url'))

/** Compares hashes, because `timingSafeEqual` needs equal lengths. */
export const isToken = (token: Secret, guess: string): boolean =>
  timingSafeEqual(digestOf(token.reveal()), digestOf(guess))

function checkOrigin({ headers }: FastifyRequest, isMachine: boolean): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw refusedError('it came from another site')
  const { origin } = headers
  if (origin !== undefined && !isOurPage(origin, headers)) throw refusedError('it came from a page of another address')
  if (!isMachine && headers[OWN_HEADER] === undefined) throw refusedError(`it lacks the header ${OWN_HEADER}`)
}

/** Returns whether the console's page sent the request. Trusts `X-Forwarded-Host`: other sites cannot set it. */
function isOurPage(origin: string, { host, 'x-forwarded-host': forwarded = '' }: FastifyRequest['headers']): boolean {
  const from = URL.canParse(origin) ? new URL(origin).host : ''
  const [asked] = String(forwarded).split(',')
  return from !== '' && (from === host || from === asked)
}

const bearerOf = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1]

const wantsPage = ({ method, headers, url }: FastifyRequest): boolean =>
  method === 'GET' && !url.startsWith('/api/') && (headers.accept ?? '').includes('text/html')

const refusedError = (why: string): SyncError =>
  new SyncError('CONSOLE_REFUSED', `the request was refused: ${why}`, {
    cure: 'Open the console at the address that the worker printed. A proxy must request that address, and send its own name in X-Forwarded-Host. Programs send the token as "Authorization: Bearer …".',
  })

const LoggedIn = z.object({ logged_in: z.boolean(), may_act: z.boolean() })
const TOKEN_LENGTH_MAX = 1_000

const Token = z.strictObject({ token: z.string().min(1).max(TOKEN_LENGTH_MAX) })

export function addSessionRoutes(api: Api, gate: GateOptions): void {
  const opening = answers(LoggedIn, 'Opens a session with the token of the console', { body: Token })
  api.post('/api/session', { ...opening, config: { open: true, rateLimit: false } }, async (request, reply) => {
    const access = await checkToken(gate, request, request.body.token)
    const secure = request.headers['x-forwarded-proto'] === 'https'
    const cookie = { httpOnly: true, sameSite: 'strict', path: '/', secure } as const
    reply.setCookie(gate.cookie, gate.sessions.begin(access), cookie)
    return { logged_in: true, may_act: access === 'act' }
  })
  api.get('/api/session', answers(LoggedIn, 'Whether the session is open'), async ({ mayAct }) => ({
    logged_in: true,
    may_act: mayAct,
  }))
  const closing = answers(LoggedIn, 'Closes the session')
  api.delete('/api/session', { ...closing, config: { forViewers: true } }, async (request, reply) => {
    gate.sessions.end(request.session)
    reply.clearCookie(gate.cookie, { path: '/' })
    return { logged_in: false, may_act: false }
  })
}
