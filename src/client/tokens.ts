/** The token cache (spec §5, rules 1, 4 and 6). All requests that need a token share one token request. */
import type { Clock } from '../clock.ts'
import { cancelled, SyncError } from '../errors.ts'
import { type Instant, plusMs } from '../instant.ts'
import type { Secret } from '../secret.ts'
import { linkedSignal, type LinkedSignal, raced, throwIfAborted } from './cancellation.ts'
import { TOKEN_MARGIN_MS_MAX, TOKEN_MARGIN_SHARE } from './limits.ts'
import { credentialsRefused, type IssuedToken } from './tokenAnswers.ts'

export interface StoredToken {
  accessToken: Secret
  lifetimeMs: number
  /** Measured by the store's clock, because processes share no monotonic clock. */
  remainingMs: number
  scopes: readonly string[] | undefined
}

export interface TokenStore {
  read(): Promise<StoredToken | undefined>
  write(token: StoredToken): Promise<void>
  /** Deletes the stored token only if it is this one, because another process may have stored a newer token. */
  drop(accessToken: Secret): Promise<void>
  withLock<T>(refresh: () => Promise<T>, signal: AbortSignal): Promise<T>
  refused?(): Promise<boolean>
  refuse?(): Promise<void>
  forgive?(): Promise<void>
}

export interface Token {
  readonly secret: Secret
  readonly scopes: readonly string[] | undefined
  readonly expiresAt: Instant
  /** From this time of our monotonic clock on, the token is renewed. */
  readonly renewAtMs: number
  /** 1 for the first token that this client requested, 2 for the second. 0 if another process requested the token. */
  readonly issue: number
}

export interface TokenDependencies {
  clock: Clock
  store: TokenStore | undefined
  request: (signal: AbortSignal) => Promise<IssuedToken>
  /** Reads the secret again, and calls `forget` if it has changed. */
  readSecret: () => Promise<void>
  onRefreshed: (token: Token) => void
}

/** A token request with the number of its callers. It is cancelled when no caller waits any more. */
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
  /** True if the refusal of the credentials is also in the store. There it can expire, or other processes delete it. */
  #refusalIsShared = false
  #issued = 0

  constructor(dependencies: TokenDependencies) {
    this.#dependencies = dependencies
  }

  get issued(): number {
    return this.#issued
  }

  /** Returns a token that does not expire soon. Callers that come during a token request share its result. */
  async current(signal: AbortSignal): Promise<Token> {
    throwIfAborted(signal)
    if (this.#refused) await this.#dependencies.readSecret()
    if (this.#refused && !(await this.#isForgiven())) throw credentialsRefused()
    return this.#fresh(this.#cached) ?? this.#awaitRefresh(signal)
  }

  async drop(token: Token): Promise<void> {
    if (this.#cached === token) this.#cached = undefined
    await this.#dependencies.store?.drop(token.secret)
  }

  /** Drops the token, and forgets that the service refused the credentials, because an operator has acted. */
  async forget(): Promise<void> {
    this.#refused = false
    await this.#dependencies.store?.forgive?.()
    if (this.#cached !== undefined) await this.drop(this.#cached)
  }

  /** Returns whether the refusal is no longer in the store. It has expired, or another process has deleted it. */
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

  /** Cancels a token request that no caller waits for. A request that has already ended is only forgotten. */
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

  /** While this process waited for the lock, another process may have stored a token or a refusal. */
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

  /** Ignores an error of the store, so that callers get the error CREDENTIALS_REFUSED. */
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
    // Later callers must not join this request, because its token may have expired by then.
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

/** Returns how long before its end (ms) a token is renewed: a minute, or a fifth of a lifetime below five minutes. */
export const tokenMarginMs = (lifetimeMs: number): number =>
  Math.min(TOKEN_MARGIN_MS_MAX, lifetimeMs * TOKEN_MARGIN_SHARE)
