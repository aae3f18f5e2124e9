/**
 * The token: cached until near its end, asked for once at a time however many wait for it, dropped when the service
 * refuses it (spec §5, rules 1, 4 and 6). Its age is counted on the monotonic clock from before its request was sent,
 * so no jump of the wall clock makes it look younger. Once the credentials were refused, nothing is sent any more.
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
  /** What is left of its life, on the store's own clock: processes share no monotonic one. */
  remainingMs: number
  scopes: readonly string[] | undefined
}

/** A place where several processes keep one token between them. Without one, the token lives in this process. */
export interface TokenStore {
  read(): Promise<StoredToken | undefined>
  write(token: StoredToken): Promise<void>
  /** Forgets this token, and no newer one. */
  drop(accessToken: Secret): Promise<void>
  /** Runs one refresh at a time over all who share the store. */
  oneAtATime<T>(refresh: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Whether anybody was told lately that these credentials are wrong: then nobody else asks. */
  refused?(): Promise<boolean>
  refuse?(): Promise<void>
  /** An operator has acted: they may be tried again. */
  forgive?(): Promise<void>
}

export interface Token {
  readonly secret: Secret
  readonly scopes: readonly string[] | undefined
  readonly expiresAt: Instant
  /** Monotonic: from here on it is renewed instead of used. */
  readonly renewAtMs: number
  /** Which of this client's own token requests brought it, counted from one; 0: another process asked for it. */
  readonly issue: number
}

export interface TokenParts {
  clock: Clock
  store: TokenStore | undefined
  /** Asks the service once more for a token, with all its retries. */
  request: (signal: AbortSignal) => Promise<IssuedToken>
  onRefreshed: (token: Token) => void
}

/** One refresh and those who wait for it; it is called off when the last of them leaves. */
interface Refresh {
  token: Promise<Token>
  linked: LinkedSignal
  waiting: number
}

export class TokenCache {
  readonly #parts: TokenParts
  #held: Token | undefined
  #refresh: Refresh | undefined
  #refused = false
  /** The store knows that they were refused, and so when that is forgiven. */
  #refusalIsShared = false
  #issued = 0

  constructor(parts: TokenParts) {
    this.#parts = parts
  }

  /** How many tokens were issued to this client so far: a higher `issue` is a newer token than any sent before. */
  get issued(): number {
    return this.#issued
  }

  /** A token that is not near its end. Callers who come while one is on its way share it. */
  async current(signal: AbortSignal): Promise<Token> {
    throwIfAborted(signal)
    if (this.#refused && !(await this.#isForgiven())) throw credentialsRefused()
    return this.#fresh(this.#held) ?? this.#shared(signal)
  }

  /** Forgets a token that the service refused, unless a newer one has taken its place. */
  async drop(token: Token): Promise<void> {
    if (this.#held === token) this.#held = undefined
    await this.#parts.store?.drop(token.secret)
  }

  /** An operator has acted: credentials may be tried again, and the next token is a new one. */
  async forget(): Promise<void> {
    this.#refused = false
    await this.#parts.store?.forgive?.()
    if (this.#held !== undefined) await this.drop(this.#held)
  }

  /** An operator acts in one process, and it holds for all who share its store. */
  async #isForgiven(): Promise<boolean> {
    if (!this.#refusalIsShared) return false
    this.#refused = (await this.#parts.store?.refused?.()) ?? true
    return !this.#refused
  }

  async #shared(signal: AbortSignal): Promise<Token> {
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

  /** Nobody waits any more: either it has settled, or all who wanted it were cancelled. */
  #end(refresh: Refresh): void {
    refresh.linked.abort(cancelled('nobody waits for this token'))
    if (this.#refresh === refresh) this.#refresh = undefined
  }

  async #renew(signal: AbortSignal): Promise<Token> {
    try {
      const { store } = this.#parts
      if (store === undefined) return this.#keep(await this.#ask(signal))
      // Most of the time another process has one already, and nobody needs to wait for a turn.
      const shared = await this.#sharedIn(store)
      if (shared !== undefined) return this.#keep(shared)
      return await store.oneAtATime(async () => this.#keep(await this.#turn(store, signal)), signal)
    } catch (error) {
      if (error instanceof SyncError && error.code === 'CREDENTIALS_REFUSED') this.#refused = true
      throw error
    }
  }

  /** Whoever had the turn before may have brought one, or bad news. */
  async #turn(store: TokenStore, signal: AbortSignal): Promise<Token> {
    const shared = await this.#sharedIn(store)
    if (shared !== undefined) return shared
    if ((await store.refused?.()) === true) {
      this.#refusalIsShared = true
      throw credentialsRefused()
    }
    try {
      return await this.#ask(signal)
    } catch (error) {
      if (error instanceof SyncError && error.code === 'CREDENTIALS_REFUSED') await this.#share(store)
      throw error
    }
  }

  /** A store that is away must not hide the refusal: a failure of its own would be tried again, with a token request. */
  async #share(store: TokenStore): Promise<void> {
    this.#refusalIsShared = false
    try {
      await store.refuse?.()
      this.#refusalIsShared = true
    } catch {
      return
    }
  }

  async #sharedIn(store: TokenStore): Promise<Token | undefined> {
    const known = await store.read()
    return known === undefined ? undefined : this.#fresh(this.#tokenOf(known, 0))
  }

  async #ask(signal: AbortSignal): Promise<Token> {
    const { clock, store, request, onRefreshed } = this.#parts
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
    this.#held = token
    // Whoever comes from now on finds it in the cache, and never joins this refresh when it is old.
    this.#refresh = undefined
    return token
  }

  #fresh(token: Token | undefined): Token | undefined {
    return token !== undefined && this.#parts.clock.monotonicMs() < token.renewAtMs ? token : undefined
  }

  #tokenOf({ accessToken, lifetimeMs, remainingMs, scopes }: StoredToken, issue: number): Token {
    const { clock } = this.#parts
    return {
      secret: accessToken,
      scopes,
      expiresAt: plusMs(clock.now(), remainingMs),
      renewAtMs: clock.monotonicMs() + remainingMs - tokenMarginMs(lifetimeMs),
      issue,
    }
  }
}

/** How long before its end a token is renewed: a minute, or a fifth of a short life. */
export const tokenMarginMs = (lifetimeMs: number): number =>
  Math.min(TOKEN_MARGIN_MS_MAX, lifetimeMs * TOKEN_MARGIN_SHARE)
