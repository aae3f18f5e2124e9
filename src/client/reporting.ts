/** The client of the reporting service. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../clock.ts'
import { cancelled, type ErrorCode, type SyncError } from '../errors.ts'
import type { Instant } from '../instant.ts'
import { type Observe, runKind, unobserved } from '../observe.ts'
import type { RequestEntry } from '../plan/requestBudget.ts'
import type { Secret } from '../secret.ts'
import { errorOf } from './answers.ts'
import { linkedSignal } from './cancellation.ts'
import { Limiter, type Permit, type Priority, type SharedPauses } from './limiter.ts'
import { type ClientLimits, DEFAULT_LIMITS, TOKEN_ANSWER_BYTES_MAX, TOKENS_TRIED_MAX } from './limits.ts'
import { Redactor } from './redaction.ts'
import { isThrottled, type RetryOptions, withRetries } from './retry.ts'
import { ServiceClock } from './serviceClock.ts'
import { issuedToken, type StoredToken, type Token, TokenCache, type TokenStore } from './tokens.ts'
import { type Post, type RawAnswer, Transport } from './transport.ts'

export type { Priority, SharedPauses } from './limiter.ts'
export type { ClientLimits } from './limits.ts'
export type { StoredToken, TokenStore } from './tokens.ts'

/** Events for logs and metrics, without secrets. */
export type ClientEvent =
  | { kind: 'retry'; report: string | undefined; code: ErrorCode; attempt: number; delayMs: number }
  | { kind: 'throttled'; report: string | undefined; pauseMs: number }
  | { kind: 'wait requested'; report: string | undefined; pauseMs: number }
  | { kind: 'token refused'; report: string }
  | { kind: 'token refreshed'; expiresAt: Instant }
  | { kind: 'secret changed' }
  /** This machine's clock is used, because no response has a Date header. */
  | { kind: 'clock is ours' }

export interface ClientSettings {
  /** The paths of requests are appended to this URL. */
  baseUrl: URL
  /** The path prefix of all reports. The default is `/reportingapi`. */
  reportsPath?: string | undefined
  tokenPath?: string | undefined
  clientId: string
  clientSecret: Secret
  /** The OAuth scopes to request. By default the token has all scopes of the client (spec §4). */
  scopes?: readonly string[] | undefined
  concurrency: number
  requestsPerSecond?: number | undefined
  limits?: Partial<ClientLimits> | undefined
}

export interface ClientDependencies {
  clock: Clock
  /** Must not throw. */
  onEvent?: ((event: ClientEvent) => void) | undefined
  observe?: Observe | undefined
  /** The caller closes this connection pool. */
  dispatcher?: Dispatcher | undefined
  tokenStore?: TokenStore | undefined
  sharedPauses?: SharedPauses | undefined
}

export interface ReportRequest<T> {
  report: string
  /** Example: `/v1/EventReport/GetEventsReport`. */
  path: string
  body: Readonly<Record<string, unknown>>
  scope?: string | undefined
  /** Whether a 403 forbids all later requests of the report (the default), or only this request. */
  forbids?: 'report' | 'request' | undefined
  priority?: Priority | undefined
  /** The request is sent again if this function throws a transient SyncError. */
  parse(bytes: Buffer): T | Promise<T>
}

export interface Answer<T> {
  value: T
  /** The service's time, from the Date header if there is one. */
  servedAt: Instant
  /** The service's clock when the request was sent, or slightly earlier. */
  askedAt: Instant
  bytes: number
}

const TOKEN_PATH = '/authenticationapi/Account/RequestToken'

export type ReportingClient = Pick<Client, keyof Client>

/** Opens a client, which the caller must close. */
export function openClient(settings: ClientSettings, dependencies: ClientDependencies): ReportingClient {
  return new Client(settings, dependencies)
}

class Client implements AsyncDisposable {
  /** `requests` counts report requests, including retries. */
  readonly counters = { requests: 0, tokenRequests: 0, retries: 0, throttled: 0 }
  readonly #requests: RequestEntry[] = []
  readonly #settings: ClientSettings
  readonly #limits: ClientLimits
  readonly #dependencies: ClientDependencies
  readonly #transport: Transport
  readonly #limiter: Limiter
  readonly #tokens: TokenCache
  readonly #serviceClock: ServiceClock
  readonly #redactor: Redactor
  readonly #closing = new AbortController()
  /** Later reads of a refused report throw the stored error. */
  readonly #refusals = new Map<string, SyncError>()

  constructor(settings: ClientSettings, dependencies: ClientDependencies) {
    const { clock, dispatcher, tokenStore, sharedPauses } = dependencies
    const { baseUrl, concurrency, requestsPerSecond } = settings
    this.#settings = settings
    this.#limits = { ...DEFAULT_LIMITS, ...settings.limits }
    this.#dependencies = dependencies
    this.#redactor = new Redactor(settings.clientSecret)
    this.#serviceClock = new ServiceClock(clock)
    const pauseMsMax = this.#limits.retryAfterMsMax
    this.#limiter = new Limiter({ concurrency, requestsPerSecond, pauseMsMax, sharedPauses }, clock)
    this.#transport = new Transport({ baseUrl, connections: concurrency, limits: this.#limits, clock, dispatcher })
    this.#tokens = new TokenCache({
      clock,
      store: tokenStore,
      request: (signal) => this.#requestToken(signal),
      readSecret: () => this.readSecret(),
      onRefreshed: ({ expiresAt }) => this.#emit({ kind: 'token refreshed', expiresAt }),
    })
  }

  async read<T>(request: ReportRequest<T>, signal?: AbortSignal): Promise<Answer<T>> {
    using linked = linkedSignal([signal, this.#closing.signal])
    const { signal: stop } = linked
    const permit = () => this.#limiter.acquire(stop, request.priority)
    return await withRetries(() => this.#readOnce(request, stop), this.#retryOptions(request.report, stop, permit))
  }

  async token(signal?: AbortSignal): Promise<{ expiresAt: Instant; scopes: readonly string[] | undefined }> {
    using linked = linkedSignal([signal, this.#closing.signal])
    using _permit = await this.#limiter.acquire(linked.signal)
    const { expiresAt, scopes } = await this.#token(linked.signal)
    return { expiresAt, scopes }
  }

  /** Returns the service's time or slightly earlier, or our time if responses have no Date. Undefined at first. */
  serviceNow(): Instant | undefined {
    return this.#serviceClock.now()
  }

  get clockIsOurs(): boolean {
    return this.#serviceClock.isOurs
  }

  /** Forgets refusals, so that the next read asks the service again. */
  async resume(report?: string): Promise<void> {
    if (report === undefined) this.#refusals.clear()
    else this.#refusals.delete(report)
    // The cached token lacks scopes that were granted later, so a new token is requested.
    await this.#tokens.forget()
  }

  /** Called when another process has resumed the report. */
  forgetRefusal(report: string): void {
    this.#refusals.delete(report)
  }

  /** Reads the secret again. If the secret has changed, forgets an earlier refusal of the credentials. */
  async readSecret(): Promise<void> {
    if (!(await this.#settings.clientSecret.readAgain())) return
    this.#emit({ kind: 'secret changed' })
    await this.#tokens.forget()
  }

  /** Returns the requests since the last call, including retries. */
  takeRequests = (): readonly RequestEntry[] => this.#requests.splice(0)

  async close(): Promise<void> {
    this.#closing.abort(cancelled('the client was closed'))
    await this.#transport.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #emit(event: ClientEvent): void {
    this.#dependencies.onEvent?.(event)
  }

  async #readOnce<T>(request: ReportRequest<T>, signal: AbortSignal): Promise<Answer<T>> {
    const answer = await this.#postWithNewTokens(request, signal)
    const { report, scope, forbids } = request
    const context = { report, scope, redactor: this.#redactor }
    const error = errorOf(answer, context)
    if (error !== undefined) {
      // The stored error has no Retry-After. Otherwise each later read of this error would start the pause again.
      const stored = errorOf({ ...answer, retryAfterMs: undefined }, context) ?? error
      if (answer.status === 401 || (answer.status === 403 && forbids !== 'request')) this.#refusals.set(report, stored)
      throw error
    }
    const wasOurs = this.clockIsOurs
    const servedAt = this.#serviceClock.observe(answer)
    if (this.clockIsOurs && !wasOurs) this.#emit({ kind: 'clock is ours' })
    const bytes = answer.bytes.length
    const askedAt = this.#serviceClock.at(answer.sentMs)
    return { value: await request.parse(answer.bytes), servedAt, askedAt, bytes }
  }

  /** Tries again with a new token after a 401 (spec §5, rule 4). */
  async #postWithNewTokens(request: ReportRequest<unknown>, signal: AbortSignal): Promise<RawAnswer> {
    let receivedBefore: number | undefined
    for (let tried = 1; ; tried += 1) {
      const { answer, token, tokensReceived } = await this.#postWithToken(request, signal)
      // If the service refuses even a new token, a scope is missing, and another token would not help.
      const isNew = receivedBefore !== undefined && token.number > receivedBefore
      if (answer.status !== 401 || isNew || tried === TOKENS_TRIED_MAX) return answer
      receivedBefore ??= tokensReceived
      await this.#tokens.drop(token)
      this.#emit({ kind: 'token refused', report: request.report })
    }
  }

  async #postWithToken(request: ReportRequest<unknown>, signal: AbortSignal) {
    const refusal = this.#refusals.get(request.report)
    if (refusal !== undefined) throw refusal
    const token = await this.#token(signal)
    const { report, path, body } = request
    const { reportsPath = '/reportingapi' } = this.#settings
    const { answerBytesMax } = this.#limits
    const { tokensReceived } = this.#tokens
    this.counters.requests += 1
    this.#requests.push({ report, kind: runKind.getStore() ?? 'other' })
    const post: Post = { path: reportsPath + path, body, bearer: token.secret, report, answerBytesMax }
    return { answer: await this.#post(post, signal), token, tokensReceived }
  }

  async #token(signal: AbortSignal): Promise<Token> {
    const token = await this.#tokens.current(signal)
    this.#redactor.hide(token.secret)
    return token
  }

  #post(post: Post, signal: AbortSignal): Promise<RawAnswer> {
    const { report } = post
    const { observe = unobserved } = this.#dependencies
    return observe({ what: report === undefined ? 'token' : 'request', report }, async (note) => {
      const answer = await this.#transport.post(post, signal)
      note({ status: answer.status, bytes: answer.bytes.length })
      return answer
    })
  }

  async #requestToken(signal: AbortSignal): Promise<StoredToken> {
    const { clientId, clientSecret, scopes = [], tokenPath = TOKEN_PATH } = this.#settings
    await this.readSecret()
    const post: Post = {
      path: tokenPath,
      body: { clientId, clientSecret: clientSecret.reveal(), ...(scopes.length > 0 && { scopes: scopes.join(' ') }) },
      report: undefined,
      answerBytesMax: TOKEN_ANSWER_BYTES_MAX,
    }
    const attempt = async () => {
      this.counters.tokenRequests += 1
      const answer = await this.#post(post, signal)
      return issuedToken(answer, { report: undefined, redactor: this.#redactor }, this.#dependencies.clock)
    }
    // Needs no permit, because the request that waits for the token already has a permit.
    return await withRetries(attempt, this.#retryOptions(undefined, signal))
  }

  #retryOptions(report: string | undefined, signal: AbortSignal, permit?: () => Promise<Permit>): RetryOptions {
    return {
      permit,
      clock: this.#dependencies.clock,
      rules: this.#limits,
      signal,
      onPause: (failed, pauseMs) => {
        const throttled = isThrottled(failed)
        if (throttled) this.counters.throttled += 1
        this.#limiter.pause(pauseMs)
        this.#emit({ kind: throttled ? 'throttled' : 'wait requested', report, pauseMs })
      },
      onRetry: (failed, attempt, delayMs) => {
        this.counters.retries += 1
        this.#emit({ kind: 'retry', report, code: failed.code, attempt, delayMs })
      },
    }
  }
}
