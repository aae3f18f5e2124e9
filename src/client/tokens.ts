/**
 * The token cache (spec §5, rules 1, 4 and 6). A token is cached until shortly before its end and dropped when the
 * service refuses it. All requests that need a token share one token request. A token's lifetime is measured on the
 * monotonic clock, from the moment before its request was sent. After refused credentials, no token request is sent
 * until an operator has acted.
 */
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { type Instant, plusMs } from '../instant.ts'
import type { Secret } from '../secret.ts'
import { cancelled, linkedSignal, type LinkedSignal, raced, throwIfAborted } from './cancellation.ts'
import { TOKEN_MARGIN_MS_MAX, TOKEN_MARGIN_SHARE } from './limits.ts'
import { credentialsRefused, type IssuedToken } from './tokenAnswers.ts'

export interface StoredToken {
  accessToken: Secret
  lifetimeMs: number
  /** Milliseconds until the token expires, by the store's clock, because processes share no monotonic clock. */
  remainingMs: number
  scopes: readonly string[] | undefined
}

/** A store in which several processes share one token. */
export interface TokenStore {
  read(): Promise<StoredToken | undefined>
  write(token: StoredToken): Promise<void>
  /** Deletes this token. If the store has a newer token, the newer token stays. */
  drop(accessToken: Secret): Promise<void>
  /** Acquires the store's token lock, runs `refresh`, and releases the lock. One process has the lock at a time. */
  withLock<T>(refresh: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Returns whether the service has recently refused these credentials in any process. */
  refused?(): Promise<boolean>
  refuse?(): Promise<void>
  /** Deletes the refusal after an operator has acted. */
  forgive?(): Promise<void>
}

export interface Token {
  readonly secret: Secret
  readonly scopes: readonly string[] | undefined
  readonly expiresAt: Instant
  /** The token is renewed from this time on (our monotonic clock). */
  readonly renewAtMs: number
  /** The number of the client's token request, from 1 on; 0 if another process has requested the token. */
  readonly issue: number
}

export interface TokenDependencies {
  clock: Clock
  store: TokenStore | undefined
  /** Sends a token request to the service, with retries. */
  request: (signal: AbortSignal) => Promise<IssuedToken>
  onRefreshed: (token: Token) => void
}

/** A token request with the number of callers that wait for it. It is cancelled when no caller waits any more. */
interface Refresh {
  token: Promise<Token>
  linked: LinkedSignal
  waiting: number
}

export class TokenCache {
  readonly #dependencies: TokenDependencies
  #cached: Token | undefined
  #refresh: Refresh | undefined
  #refused = false
  /** True if the refusal of the credentials is in the store. An operator's action in another process may delete it. */
  #refusalIsShared = false
  #issued = 0

  constructor(dependencies: TokenDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns how many tokens were issued to this client. The higher a token's `issue`, the newer it is. */
  get issued(): number {
    return this.#issued
  }

  /** Returns a token that does not expire soon. All callers during one token request get its result. */
  async current(signal: AbortSignal): Promise<Token> {
    throwIfAborted(signal)
    if (this.#refused && !(await this.#isForgiven())) throw credentialsRefused()
    return this.#fresh(this.#cached) ?? this.#awaitRefresh(signal)
  }

  /** Drops a token that the service refused, unless the cache has a newer one. */
  async drop(token: Token): Promise<void> {
    if (this.#cached === token) this.#cached = undefined
    await this.#dependencies.store?.drop(token.secret)
  }

  /** Drops the token and the refusal of the credentials, after an operator has acted. */
  async forget(): Promise<void> {
    this.#refused = false
    await this.#dependencies.store?.forgive?.()
    if (this.#cached !== undefined) await this.drop(this.#cached)
  }

  /** Returns whether another process has deleted the refusal: an operator's action there counts for all processes. */
  async #isForgiven(): Promise<boolean> {
    if (!this.#refusalIsShared) return false
    this.#refused = (await this.#dependencies.store?.refused?.()) ?? true
    return !this.#refused
  }

  async #awaitRefresh(signal: AbortSignal): Promise<Token> {
    const refresh = (this.#refresh ??= this.#start())
    refresh.waiting += 1
    try {
      return await raced(refresh.token, signal)
    } finally {
      refresh.waiting -= 1
      if (refresh.waiting === 0) this.#end(refresh)
    }
  }

  #start(): Refresh {
    const linked = linkedSignal([])
    return { token: this.#renew(linked.signal), linked, waiting: 0 }
  }

  /** Called when no caller waits for a token request: it has settled, or all of its callers were cancelled. */
  #end(refresh: Refresh): void {
    refresh.linked.abort(cancelled('nobody waits for this token'))
    if (this.#refresh === refresh) this.#refresh = undefined
  }

  async #renew(signal: AbortSignal): Promise<Token> {
    try {
      const { store } = this.#dependencies
      if (store === undefined) return this.#keep(await this.#requestToken(signal))
      // Usually another process has already stored a token. This process then needs no lock.
      const shared = await this.#tokenIn(store)
      if (shared !== undefined) return this.#keep(shared)
      return await store.withLock(async () => this.#keep(await this.#requestUnderLock(store, signal)), signal)
    } catch (error) {
      if (error instanceof SyncError && error.code === 'CREDENTIALS_REFUSED') this.#refused = true
      throw error
    }
  }

  /**
   * Runs while this process has the store's token lock. Returns the token that another process has stored meanwhile. If
   * another process has stored a refusal, throws CREDENTIALS_REFUSED. Otherwise requests a token.
   */
  async #requestUnderLock(store: TokenStore, signal: AbortSignal): Promise<Token> {
    const shared = await this.#tokenIn(store)
    if (shared !== undefined) return shared
    if ((await store.refused?.()) === true) {
      this.#refusalIsShared = true
      throw credentialsRefused()
    }
    try {
      return await this.#requestToken(signal)
    } catch (error) {
      if (error instanceof SyncError && error.code === 'CREDENTIALS_REFUSED') await this.#storeRefusal(store)
      throw error
    }
  }

  /** Stores the refusal. Ignores an error of the store, so that callers get the error CREDENTIALS_REFUSED. */
  async #storeRefusal(store: TokenStore): Promise<void> {
    this.#refusalIsShared = false
    try {
      await store.refuse?.()
      this.#refusalIsShared = true
    } catch {
      return
    }
  }

  async #tokenIn(store: TokenStore): Promise<Token | undefined> {
    const known = await store.read()
    return known === undefined ? undefined : this.#fresh(this.#tokenOf(known, 0))
  }

  async #requestToken(signal: AbortSignal): Promise<Token> {
    const { clock, store, request, onRefreshed } = this.#dependencies
    const { secret, lifetimeMs, sentMs, scopes } = await request(signal)
    const remainingMs = Math.max(0, lifetimeMs - (clock.monotonicMs() - sentMs))
    const stored: StoredToken = { accessToken: secret, lifetimeMs, remainingMs, scopes }
    this.#issued += 1
    const token = this.#tokenOf(stored, this.#issued)
    await store?.write(stored)
    onRefreshed(token)
    return token
  }

  #keep(token: Token): Token {
    this.#cached = token
    // Later callers read the cache. They must not join this request, whose token may have expired by then.
    this.#refresh = undefined
    return token
  }

  #fresh(token: Token | undefined): Token | undefined {
    return token !== undefined && this.#dependencies.clock.monotonicMs() < token.renewAtMs ? token : undefined
  }

  #tokenOf({ accessToken, lifetimeMs, remainingMs, scopes }: StoredToken, issue: number): Token {
    const { clock } = this.#dependencies
    return {
      secret: accessToken,
      scopes,
      expiresAt: plusMs(clock.now(), remainingMs),
      renewAtMs: clock.monotonicMs() + remainingMs - tokenMarginMs(lifetimeMs),
      issue,
    }
  }
}

/** Returns the time (ms) from a token's renewal to its end: a minute, or a fifth of a lifetime below five minutes. */
export const tokenMarginMs = (lifetimeMs: number): number =>
  Math.min(TOKEN_MARGIN_MS_MAX, lifetimeMs * TOKEN_MARGIN_SHARE)
