/** The authentication interface (spec §5). */
import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { forbidden, invalidToken, json, tooMany, unauthorised, wrongCredentials, type Answer } from './answer.ts'
import type { SandboxState, SandboxClient } from './options.ts'
import type { NamedEndpoint } from './reports/index.ts'
import { type Body, checkBody } from './validate.ts'

const ISSUER = 'sandbox'
const MINUTE_MS = 60_000
const REMEMBERED_MAX = 10_000

interface Bearer {
  readonly client: SandboxClient
  readonly scopes: ReadonlySet<string>
  /** The time when the token expires, in seconds since 1970. The fault `expire` sets it to 0. */
  expiresAtSeconds: number
  uses: number
}

const TOKEN_REQUEST = {
  parameters: { clientId: 'string', clientSecret: 'string', scopes: 'string' },
  required: ['clientId', 'clientSecret'],
  flags: [],
} as const

export class Auth {
  readonly #state: Pick<SandboxState, 'settings' | 'faults' | 'nowSeconds'>
  readonly #key = randomBytes(32)
  readonly #bearers = new Map<string, Bearer>()
  #requestedAtMs: number[] = []
  #issued = 0

  constructor(state: Pick<SandboxState, 'settings' | 'faults' | 'nowSeconds'>) {
    this.#state = state
  }

  async requestToken(body: Body): Promise<Answer> {
    const { settings } = this.#state
    const retryAfter = this.#secondsToWait()
    if (retryAfter !== undefined) return tooMany(retryAfter)
    const { errors, unknown } = checkBody(TOKEN_REQUEST, body)
    const refused = settings.strictParameters ? { ...errors, ...unknown } : errors
    if (Object.keys(refused).length > 0) return invalidToken(refused)
    const client = settings.clients.find(
      (known) => known.clientId === body['clientId'] && known.clientSecret === body['clientSecret'],
    )
    if (client === undefined || client.disabled === true) return wrongCredentials()
    const scopes = requestedScopes(body['scopes'], client)
    const stray = scopes.filter((scope) => !client.scopes.includes(scope))
    if (stray.length > 0)
      return json(422, { title: 'Unprocessable Content', status: 422, detail: `Unknown scopes: ${stray.join(' ')}` })
    return json(200, {
      accessToken: await this.#sign(client, scopes),
      expiresIn: settings.tokenLifetimeSeconds,
      tokenType: 'Bearer',
    })
  }

  /** Checks a request's token. Returns its client, or an error response with status 401 or 403 (spec §5). */
  admit(authorization: string | undefined, endpoint: NamedEndpoint) {
    const { faults } = this.#state
    const refusal = faults.answer(endpoint.report, {
      '401-once': () => unauthorised('The token was revoked.'),
      '401-always': () => unauthorised('The token is not accepted.'),
    })
    if (refusal !== undefined) return { refusal }
    const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) return { refusal: unauthorised('A Bearer token is required.', 'invalid_request') }
    const bearer = this.#bearers.get(token)
    if (bearer === undefined || this.#hasExpired(bearer, endpoint))
      return { refusal: unauthorised('The token is invalid or has expired.') }
    const { client } = bearer
    if (!bearer.scopes.has(endpoint.scope))
      return { client, refusal: unauthorised(`The scope ${endpoint.scope} is required.`, 'insufficient_scope') }
    if (faults.take('403', endpoint.report) !== undefined || isForbidden(client, endpoint))
      return { client, refusal: forbidden(endpoint.report) }
    return { client }
  }

  async #sign(client: SandboxClient, scopes: readonly string[]): Promise<string> {
    const iat = this.#state.nowSeconds()
    const exp = iat + this.#state.settings.tokenLifetimeSeconds
    this.#issued += 1
    const claims = { iss: ISSUER, sub: client.clientId, jti: String(this.#issued), iat, exp }
    const token = await new SignJWT({ client_id: client.clientId, scope: scopes.join(' '), ...claims })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .sign(this.#key)
    const [oldest = ''] = this.#bearers.keys()
    if (this.#bearers.size >= REMEMBERED_MAX) this.#bearers.delete(oldest)
    this.#bearers.set(token, { client, scopes: new Set(scopes), expiresAtSeconds: exp, uses: 0 })
    return token
  }

  #hasExpired(bearer: Bearer, endpoint: NamedEndpoint): boolean {
    bearer.uses += 1
    const usesMax = Number(this.#state.faults.peek('expire', endpoint.report) ?? Number.POSITIVE_INFINITY)
    if (bearer.uses > usesMax && bearer.expiresAtSeconds > 0) {
      this.#state.faults.take('expire', endpoint.report)
      bearer.expiresAtSeconds = 0
    }
    return this.#state.nowSeconds() >= bearer.expiresAtSeconds
  }

  #secondsToWait(): number | undefined {
    const nowMs = this.#state.settings.clock.monotonicMs()
    this.#requestedAtMs = this.#requestedAtMs.filter((at) => nowMs - at < MINUTE_MS)
    if (this.#requestedAtMs.length >= this.#state.settings.tokenRequestsPerMinute) {
      return Math.max(1, Math.ceil((MINUTE_MS - (nowMs - (this.#requestedAtMs[0] ?? nowMs))) / 1_000))
    }
    this.#requestedAtMs.push(nowMs)
    return undefined
  }
}

function requestedScopes(scopes: unknown, client: SandboxClient): readonly string[] {
  const requested = typeof scopes === 'string' ? scopes.split(' ').filter((scope) => scope !== '') : []
  return requested.length === 0 ? client.scopes : requested
}

const isForbidden = ({ forbidden = [] }: SandboxClient, { report }: NamedEndpoint): boolean =>
  forbidden.includes(report) ||
  (report === 'enquiry_audit_entries' && (forbidden.includes('enquiries') || forbidden.includes('audit_entries')))
