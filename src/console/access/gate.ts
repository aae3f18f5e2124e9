/**
 * Everybody passes here before anything else happens. It looks at the route that was found, never at the text of the
 * address, and what is not declared open is closed: unknown paths, tricks with dots and slashes, and routes of plugins
 * too.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { asSyncError, SyncError } from '../../errors.ts'
import type { Secret } from '../../secret.ts'
import { sendFailure } from '../failures.ts'
import { isOurName } from './address.ts'
import type { Guesses } from './guesses.ts'
import type { Sessions } from './sessions.ts'
import { isToken } from './token.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered without a login. */
    readonly open?: boolean
  }
  interface FastifyRequest {
    /** The session that it belongs to; empty for a machine with the token itself, or for nobody. */
    session: string
  }
}

export interface GateParts {
  readonly token: Secret
  /** Where it listens. */
  readonly host: string
  readonly cookie: string
  readonly sessions: Sessions
  readonly guesses: Guesses
}

/** A header that no form and no image of another page can send. */
export const OWN_HEADER = 'x-tidemark-console'

const READING: readonly string[] = ['GET', 'HEAD']

export function guard(app: FastifyInstance, parts: GateParts): void {
  app.decorateRequest('session', '')
  app.addHook('onRequest', async (request, reply) => {
    const failure = failureOf(parts, request)
    // Waited for: only what was sent ends the request here.
    if (failure === 'login') await reply.redirect('/login', 302)
    else if (failure !== undefined) await sendFailure(reply, failure)
  })
}

/**
 * Undefined: it may pass. Answered rather than thrown, since plugins bring handlers of their own for what is thrown.
 */
function failureOf(parts: GateParts, request: FastifyRequest): SyncError | 'login' | undefined {
  try {
    if (pass(parts, request)) return undefined
  } catch (thrown) {
    return asSyncError(thrown)
  }
  return wantsPage(request) ? 'login' : nobody()
}

/** False: nobody is logged in, and it takes a login. Errors: CONSOLE_REFUSED, CONSOLE_LOGIN_NEEDED, CONSOLE_LIMITED. */
function pass(parts: GateParts, request: FastifyRequest): boolean {
  if (!isOurName(request.headers.host, parts.host)) throw refused('this console does not go by that name')
  const machine = bearerOf(request)
  if (!READING.includes(request.method)) checkOrigin(request, machine !== undefined)
  if (request.routeOptions.config?.open === true) return true
  if (machine !== undefined) {
    checkToken(parts, request, machine)
    return true
  }
  const session = request.cookies[parts.cookie] ?? ''
  if (!parts.sessions.isOpen(session)) return false
  request.session = session
  return true
}

const nobody = (): SyncError =>
  new SyncError('CONSOLE_LOGIN_NEEDED', 'nobody is logged in', {
    cure: 'Log in at /login with the token of the console, or send it as "Authorization: Bearer …".',
  })

/** Errors: CONSOLE_LOGIN_NEEDED for a wrong token, CONSOLE_LIMITED after too many. */
export function checkToken(
  { token, guesses }: Pick<GateParts, 'token' | 'guesses'>,
  request: FastifyRequest,
  guess: string,
): void {
  const waitMs = guesses.waitMs(request.ip)
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1_000)
    throw new SyncError('CONSOLE_LIMITED', 'too many wrong tokens came from there', {
      cure: `Wait for ${seconds} s and try again with the token that the worker printed, or that TIDEMARK_CONSOLE_TOKEN holds.`,
      data: { retryAfterSeconds: seconds },
    })
  }
  if (isToken(token, guess)) return
  guesses.wrong(request.ip)
  throw new SyncError('CONSOLE_LOGIN_NEEDED', 'this is not the token of the console', {
    cure: 'Use the token that the worker printed when it started, or that TIDEMARK_CONSOLE_TOKEN holds.',
  })
}

/** What acts must come from the console's own page, or from a machine that shows the token. */
function checkOrigin({ headers }: FastifyRequest, isMachine: boolean): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw refused('it came from another site')
  const { origin } = headers
  if (origin !== undefined && !isOurPage(origin, headers)) throw refused('it came from a page of another address')
  if (!isMachine && headers[OWN_HEADER] === undefined) throw refused(`it lacks the header ${OWN_HEADER}`)
}

/**
 * Whether it is a page of the console's: of the name by which it is asked, or by which the proxy before it was asked.
 * The proxy says that one in a header that no page of another site can send.
 */
function isOurPage(origin: string, { host, 'x-forwarded-host': forwarded = '' }: FastifyRequest['headers']): boolean {
  const from = URL.canParse(origin) ? new URL(origin).host : ''
  const [asked] = String(forwarded).split(',')
  return from !== '' && (from === host || from === asked)
}

function bearerOf({ headers }: FastifyRequest): string | undefined {
  return /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1]
}

const wantsPage = ({ method, headers, url }: FastifyRequest): boolean =>
  method === 'GET' && !url.startsWith('/api/') && (headers.accept ?? '').includes('text/html')

const refused = (why: string): SyncError =>
  new SyncError('CONSOLE_REFUSED', `the request was refused: ${why}`, {
    cure: 'Open the console by the address that the worker printed. Behind a proxy, let it ask for that address and say its own name in X-Forwarded-Host. Machines send the token as "Authorization: Bearer …".',
  })

/** Answers with the cookie of a new session. */
export function logIn(parts: GateParts, request: FastifyRequest, reply: FastifyReply): void {
  const isSecure = request.headers['x-forwarded-proto'] === 'https'
  const cookie = { httpOnly: true, sameSite: 'strict', path: '/', secure: isSecure } as const
  reply.setCookie(parts.cookie, parts.sessions.begin(), cookie)
}
