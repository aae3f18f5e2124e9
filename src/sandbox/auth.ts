/** The authentication interface (spec §5): issues short-lived JWTs, limits token requests, checks Bearer headers. */
import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { forbidden, invalidToken, json, plainStatus, tooMany, unauthorised, type Answer } from './answer.ts'
import type { Faults } from './faults.ts'
import type { SandboxClient, Settings } from './options.ts'
import type { NamedEndpoint } from './reports/index.ts'

const ISSUER = 'sandbox'
const MINUTE_MS = 60_000
const REMEMBERED_MAX = 10_000

export interface AuthOptions {
  readonly settings: Settings
  readonly faults: Faults
  readonly nowSeconds: () => number
}

interface Bearer {
  readonly client: SandboxClient
  readonly scopes: ReadonlySet<string>
  readonly expiresAtSeconds: number
  uses: number
  isRevoked: boolean
}

export type Admission =
  | { readonly client: SandboxClient }
  | { readonly refusal: Answer; readonly client?: SandboxClient }

export class Auth {
  readonly #options: AuthOptions
  readonly #key = randomBytes(32)
  /** The signing key is random, so only the tokens in this map can be valid. */
  readonly #bearers = new Map<string, Bearer>()
  #requestedAtMs: number[] = []
  #issued = 0

  constructor(options: AuthOptions) {
    this.#options = options
  }

  async requestToken(body: Readonly<Record<string, unknown>>): Promise<Answer> {
    const retryAfter = this.#countRequest()
    if (retryAfter !== undefined) return tooMany(retryAfter)
    const failures = PROPERTIES.flatMap((property) => failureOf(property, body[property]))
    if (this.#options.settings.strictParameters) failures.push(...Object.keys(body).flatMap(unknownProperty))
    if (failures.length > 0) return invalidToken(failures)
    const client = this.#options.settings.clients.find(
      (known) => known.clientId === body['clientId'] && known.clientSecret === body['clientSecret'],
    )
    if (client === undefined || client.disabled === true) return plainStatus(401, 'Invalid client credentials')
    const scopes = requestedScopes(body['scopes'], client)
    const stray = scopes.filter((scope) => !client.scopes.includes(scope))
    if (stray.length > 0)
      return json(422, { title: 'Unprocessable Content', status: 422, detail: `Unknown scopes: ${stray.join(' ')}` })
    return json(200, {
      accessToken: await this.#sign(client, scopes),
      expiresIn: this.#options.settings.tokenLifetimeSeconds,
      tokenType: 'Bearer',
    })
  }

  /** Responds 401 to an invalid token or a missing scope, and 403 to a forbidden report (spec §5). */
  admit(authorization: string | undefined, endpoint: NamedEndpoint): Admission {
    const { faults } = this.#options
    if (faults.take('401-once', endpoint.report) !== undefined)
      return { refusal: unauthorised('The token was revoked.') }
    if (faults.take('401-always', endpoint.report) !== undefined)
      return { refusal: unauthorised('The token is not accepted.') }
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
    const iat = this.#options.nowSeconds()
    const exp = iat + this.#options.settings.tokenLifetimeSeconds
    this.#issued += 1
    const claims = { iss: ISSUER, sub: client.clientId, jti: String(this.#issued), iat, exp }
    const token = await new SignJWT({ client_id: client.clientId, scope: scopes.join(' '), ...claims })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .sign(this.#key)
    const [oldest = ''] = this.#bearers.keys()
    if (this.#bearers.size >= REMEMBERED_MAX) this.#bearers.delete(oldest)
    this.#bearers.set(token, { client, scopes: new Set(scopes), expiresAtSeconds: exp, uses: 0, isRevoked: false })
    return token
  }

  #hasExpired(bearer: Bearer, endpoint: NamedEndpoint): boolean {
    bearer.uses += 1
    const usesMax = this.#options.faults.peek('expire', endpoint.report)
    if (usesMax !== undefined && bearer.uses > Number(usesMax) && !bearer.isRevoked) {
      this.#options.faults.take('expire', endpoint.report)
      bearer.isRevoked = true
    }
    return bearer.isRevoked || this.#options.nowSeconds() >= bearer.expiresAtSeconds
  }

  /** Returns the seconds to wait if the limit per minute is reached, otherwise undefined. */
  #countRequest(): number | undefined {
    const nowMs = this.#options.settings.clock.monotonicMs()
    this.#requestedAtMs = this.#requestedAtMs.filter((at) => nowMs - at < MINUTE_MS)
    if (this.#requestedAtMs.length >= this.#options.settings.tokenRequestsPerMinute) {
      return Math.max(1, Math.ceil((MINUTE_MS - (nowMs - (this.#requestedAtMs[0] ?? nowMs))) / 1_000))
    }
    this.#requestedAtMs.push(nowMs)
    return undefined
  }
}

const PROPERTIES: readonly string[] = ['clientId', 'clientSecret', 'scopes']

const unknownProperty = (property: string) =>
  PROPERTIES.includes(property) ? [] : [{ property, message: `${property} is not a parameter of a token request.` }]

function failureOf(property: string, given: unknown): { property: string; message: string }[] {
  if (property === 'scopes' && (given === undefined || given === null)) return []
  if (typeof given !== 'string') return [{ property, message: `${property} must be a string.` }]
  return given === '' && property !== 'scopes' ? [{ property, message: `${property} is required.` }] : []
}

function requestedScopes(scopes: unknown, client: SandboxClient): readonly string[] {
  const requested = typeof scopes === 'string' ? scopes.split(' ').filter((scope) => scope !== '') : []
  return requested.length === 0 ? client.scopes : requested
}

function isForbidden(client: SandboxClient, endpoint: NamedEndpoint): boolean {
  const needed =
    endpoint.report === 'enquiry_audit_entries'
      ? ['enquiry_audit_entries', 'enquiries', 'audit_entries']
      : [endpoint.report]
  return needed.some((report) => (client.forbidden as readonly string[] | undefined)?.includes(report) === true)
}
