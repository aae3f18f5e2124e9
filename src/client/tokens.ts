/** Requests tokens and caches one (spec §4, §5). */
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { cancelled, SyncError } from '../errors.ts'
import { type Instant, plusMs } from '../instant.ts'
import { Secret } from '../secret.ts'
import { credentialsRefused, failure, errorOf, type RequestContext } from './answers.ts'
import { raced, throwIfAborted } from './cancellation.ts'
import { TOKEN_LIFETIME_MS_MAX, TOKEN_MARGIN_MS_MAX, TOKEN_MARGIN_SHARE } from './limits.ts'
import { parsedJson } from './problems.ts'
import type { RawAnswer } from './transport.ts'

export interface StoredToken {
  accessToken: Secret
  lifetimeMs: number
  /** Time until the token expires. The store's clock measures the time, because processes share no monotonic clock. */
  remainingMs: number
  /** Undefined if the token is not a JWT or contains no scopes. */
  scopes: readonly string[] | undefined
}

export interface TokenStore {
  read(): Promise<StoredToken | undefined>
  write(token: StoredToken): Promise<void>
  /** Removes this token. Keeps a newer token that another process has stored. */
  drop(accessToken: Secret): Promise<void>
  withLock<T>(refresh: () => Promise<T>, signal: AbortSignal): Promise<T>
  hasRefusal(): Promise<boolean>
  storeRefusal(): Promise<void>
  deleteRefusal(): Promise<void>
}

export interface Token {
  readonly secret: Secret
  readonly scopes: readonly string[] | undefined
  readonly expiresAt: Instant
  /** When the token must be renewed, by our monotonic clock. */
  readonly renewAtMs: number
  /** The number of this token, counted from 1. It is 0 if another process requested the token. */
  readonly number: number
}

export interface TokenDependencies {
  clock: Clock
  store: TokenStore | undefined
  request: (signal: AbortSignal) => Promise<StoredToken>
  /** Reads the client secret again, and calls `forget` if the secret has changed. */
  readSecret: () => Promise<void>
  onRefreshed: (token: Token) => void
}

export class TokenCache {
  readonly #dependencies: TokenDependencies
  #cached: Token | undefined
  /** The current token request. The request is cancelled when no caller waits. */
  #refresh: { token: Promise<Token>; ending: AbortController; waiting: number } | undefined
  /** A refusal in the store can expire or be deleted by another process, so the store is read before each use. */
  #refusal: 'none' | 'ours' | 'in the store' = 'none'
  tokensReceived = 0

  constructor(dependencies: TokenDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns a token that does not expire soon. */
  async current(signal: AbortSignal): Promise<Token> {
    throwIfAborted(signal)
    if (this.#refusal !== 'none') await this.#dependencies.readSecret()
    if (this.#refusal === 'in the store' && !(await this.#dependencies.store?.hasRefusal())) this.#refusal = 'none'
    if (this.#refusal !== 'none') throw credentialsRefused()
    return this.#fresh(this.#cached) ?? this.#awaitRefresh(signal)
  }

  async drop(token: Token): Promise<void> {
    if (this.#cached === token) this.#cached = undefined
    await this.#dependencies.store?.drop(token.secret)
  }

  /** Drops the token and any refusal of the credentials. */
  async forget(): Promise<void> {
    this.#refusal = 'none'
    await this.#dependencies.store?.deleteRefusal()
    if (this.#cached !== undefined) await this.drop(this.#cached)
  }

  async #awaitRefresh(signal: AbortSignal): Promise<Token> {
    const ending = new AbortController()
    const refresh = (this.#refresh ??= { token: this.#renew(ending.signal), ending, waiting: 0 })
    refresh.waiting += 1
    try {
      return await raced(refresh.token, signal)
    } finally {
      refresh.waiting -= 1
      if (refresh.waiting === 0) {
        refresh.ending.abort(cancelled('nobody waits for this token'))
        if (this.#refresh === refresh) this.#refresh = undefined
      }
    }
  }

  async #renew(signal: AbortSignal): Promise<Token> {
    const { store } = this.#dependencies
    // Reads the store without the lock first, because another process has usually stored a token already.
    const shared = await this.#tokenIn(store)
    const requested = () => this.#requestToken(store, signal)
    this.#cached = shared ?? (await (store === undefined ? requested() : store.withLock(requested, signal)))
    // Later callers must not join this request, because its token may have expired.
    this.#refresh = undefined
    return this.#cached
  }

  async #tokenIn(store: TokenStore | undefined): Promise<Token | undefined> {
    const known = await store?.read()
    return known && this.#fresh(this.#tokenOf(known, 0))
  }

  async #requestToken(store: TokenStore | undefined, signal: AbortSignal): Promise<Token> {
    // Another process may have stored a token while this process waited for the lock.
    const shared = await this.#tokenIn(store)
    if (shared !== undefined) return shared
    if ((await store?.hasRefusal()) === true) {
      this.#refusal = 'in the store'
      throw credentialsRefused()
    }
    const issued = await this.#dependencies.request(signal).catch(async (error: unknown) => {
      if (error instanceof SyncError && error.code === 'CREDENTIALS_REFUSED') await this.#recordRefusal(store)
      throw error
    })
    this.tokensReceived += 1
    const token = this.#tokenOf(issued, this.tokensReceived)
    await store?.write(issued)
    this.#dependencies.onRefreshed(token)
    return token
  }

  /** Stores the refusal, so that other processes do not send the refused credentials again. */
  async #recordRefusal(store: TokenStore | undefined): Promise<void> {
    this.#refusal = 'ours'
    await store?.storeRefusal().then(
      () => (this.#refusal = 'in the store'),
      () => undefined,
    )
  }

  #fresh(token: Token | undefined): Token | undefined {
    return token !== undefined && this.#dependencies.clock.monotonicMs() < token.renewAtMs ? token : undefined
  }

  #tokenOf({ accessToken, lifetimeMs, remainingMs, scopes }: StoredToken, number: number): Token {
    const { clock } = this.#dependencies
    const marginMs = Math.min(TOKEN_MARGIN_MS_MAX, lifetimeMs * TOKEN_MARGIN_SHARE)
    const expiresAt = plusMs(clock.now(), remainingMs)
    return { secret: accessToken, scopes, expiresAt, renewAtMs: clock.monotonicMs() + remainingMs - marginMs, number }
  }
}

const TokenAnswer = z.object({
  // The token is sent in a header, so only printable characters without spaces are allowed.
  accessToken: z.string().regex(/^[\x21-\x7e]+$/),
  expiresIn: z.number().positive(),
  tokenType: z.string().regex(/^bearer$/i),
})

/** Returns the token in a response (spec §4, §7). Errors contain no field values, because these can be secret. */
export function issuedToken(answer: RawAnswer, request: RequestContext, clock: Clock): StoredToken {
  // An empty body leads to TOKEN_UNUSABLE, the error for a missing token.
  const failed = answer.status === 200 && answer.bytes.length === 0 ? undefined : errorOf(answer, request)
  if (failed !== undefined) throw failed
  const { data, error } = TokenAnswer.safeParse(parsedJson(answer.bytes.toString('utf8')))
  if (data === undefined) throw unusable(error, request)
  const lifetimeMs = Math.min(data.expiresIn * 1_000, TOKEN_LIFETIME_MS_MAX)
  const remainingMs = Math.max(0, lifetimeMs - (clock.monotonicMs() - answer.sentMs))
  return { accessToken: new Secret(data.accessToken), lifetimeMs, remainingMs, scopes: scopesIn(data.accessToken) }
}

function unusable({ issues }: z.ZodError, request: RequestContext): SyncError {
  const fields = [...new Set(issues.map(({ path }) => String(path[0] ?? 'body')))]
  return failure('TOKEN_UNUSABLE', request, {
    message: `the answer is no usable Bearer token (wrong: ${fields.join(', ')})`,
    cure: 'Check that service.base_url is the right host; else ask the owner of the service.',
    data: { fields },
  })
}

const Scopes = z
  .string()
  .transform((text) => text.split(' ').filter((scope) => scope !== ''))
  .or(z.array(z.string()))
/** Servers use different names for the scopes in a JWT. */
const Claims = z.object({ scope: Scopes, scp: Scopes, scopes: Scopes }).partial()

/** Does not check the token's signature, because the scopes are only shown. */
function scopesIn(accessToken: string): readonly string[] | undefined {
  const payload = Buffer.from(accessToken.split('.')[1] ?? '', 'base64url')
  const { data } = Claims.safeParse(parsedJson(payload.toString('utf8')))
  return data?.scope ?? data?.scp ?? data?.scopes
}
