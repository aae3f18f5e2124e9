/** The client of the reporting service. It needs no list of reports: each request has its path, body and parser. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../clock.ts'
import { cancelled, type ErrorCode, type SyncError } from '../errors.ts'
import type { Instant } from '../instant.ts'
import { type Observe, type Subject, unobserved } from '../observe.ts'
import type { Secret } from '../secret.ts'
import { type RequestContext, reportRefusal, scopeMissing } from './answers.ts'
import { linkedSignal } from './cancellation.ts'
import { Limiter, type Permit, type Priority } from './limiter.ts'
import { type ClientLimits, DEFAULT_LIMITS, TOKEN_ANSWER_BYTES_MAX, TOKENS_TRIED_MAX } from './limits.ts'
import { Redactor } from './redaction.ts'
import { isThrottled, type RetryOptions, withRetries } from './retry.ts'
import { ServiceClock } from './serviceClock.ts'
import { PauseWatch, type SharedPauses } from './sharedPauses.ts'
import { type IssuedToken, issuedToken } from './tokenAnswers.ts'
import { type Token, TokenCache, type TokenStore } from './tokens.ts'
import { type Post, type RawAnswer, Transport } from './transport.ts'

export type { Priority } from './limiter.ts'
export type { ClientLimits } from './limits.ts'
export type { SharedPauses } from './sharedPauses.ts'
export type { StoredToken, TokenStore } from './tokens.ts'

/** An event for logs and metrics. It contains no secret, no header and no body. */
export type ClientEvent =
  | { kind: 'retry'; report: string | undefined; code: ErrorCode; attempt: number; delayMs: number }
  /** The service responded with 429. For `pauseMs`, this client sends no request. */
  | { kind: 'throttled'; report: string | undefined; pauseMs: number }
  /** Another response, such as a 503, had a Retry-After. For `pauseMs`, this client sends no request. */
  | { kind: 'wait requested'; report: string | undefined; pauseMs: number }
  /** The service refused the cached token for this report. A new token is requested (spec §5, rule 4). */
  | { kind: 'token refused'; report: string }
  | { kind: 'token refreshed'; expiresAt: Instant }
  | { kind: 'secret changed' }
  /** Responses have no Date header, so this machine's clock is used. This event is emitted once. */
  | { kind: 'clock is ours' }

export interface ClientSettings {
  /** URL of the service's root. If it has a path, each request's path is appended to that path. */
  baseUrl: URL
  clientId: string
  clientSecret: Secret
  /** OAuth scopes to request. Undefined or empty: the client's default scopes apply (spec §4). */
  scopes?: readonly string[] | undefined
  concurrency: number
  requestsPerSecond?: number | undefined
  limits?: Partial<ClientLimits> | undefined
}

export interface ClientDependencies {
  clock: Clock
  /** Receives events for logs and metrics; must not throw. */
  onEvent?: ((event: ClientEvent) => void) | undefined
  observe?: Observe | undefined
  /** The caller's connection pool, which the caller closes; undefined: the client opens its own. */
  dispatcher?: Dispatcher | undefined
  tokenStore?: TokenStore | undefined
  sharedPauses?: SharedPauses | undefined
}

export interface ReportRequest<T> {
  report: string
  /** The path after base URL and `/reportingapi`. Example: `/v1/EventReport/GetEventsReport`. */
  path: string
  body: Readonly<Record<string, unknown>>
  /** The OAuth scope that grants access to this report; undefined if the specification names none. */
  scope?: string | undefined
  /** `report` (the default): a 403 stops all later reads of this report. `request`: only this read fails (spec §7). */
  forbids?: 'report' | 'request' | undefined
  /** `first` (the default): incremental runs. `behind`: backfills, which get at least one of eight requests. */
  priority?: Priority | undefined
  /** Parses the body. If `parse` throws a transient SyncError (ANSWER_MALFORMED), the request is sent again. */
  parse(bytes: Buffer): T | Promise<T>
}

export interface Answer<T> {
  value: T
  /** The response's Date header (whole seconds). Without Date: an estimate from earlier headers, or our time. */
  servedAt: Instant
  /** The earliest time that the service's clock can have shown when the request was sent. */
  askedAt: Instant
  /** The decompressed size of the body. */
  bytes: number
}

/** The public methods of the client, as a type that tests can implement. */
export type ReportingClient = Pick<Client, keyof Client>

const REPORTS_PATH = '/reportingapi'
const TOKEN_PATH = '/authenticationapi/Account/RequestToken'

/** A token request needs no permit: the request that waits for the token already has one. */
const noPermit = async (): Promise<Permit> => ({
  succeeded: doNothing,
  overloaded: doNothing,
  [Symbol.dispose]: doNothing,
})

function doNothing(): void {}

/** Opens a client. Sends nothing before the first call. The caller closes it. */
export function openClient(settings: ClientSettings, dependencies: ClientDependencies): ReportingClient {
  return new Client(settings, dependencies)
}

class Client implements AsyncDisposable {
  /** `requests`: report requests sent, including retries. `throttled`: responses with status 429. */
  readonly counters = { requests: 0, tokenRequests: 0, retries: 0, throttled: 0 }
  readonly #settings: ClientSettings
  readonly #limits: ClientLimits
  readonly #clock: Clock
  readonly #emit: (event: ClientEvent) => void
  readonly #observe: Observe
  readonly #transport: Transport
  readonly #limiter: Limiter
  readonly #pauses: PauseWatch
  readonly #tokens: TokenCache
  readonly #serviceClock: ServiceClock
  readonly #redactor: Redactor
  readonly #closing = new AbortController()
  /** The error (401 or 403) of each refused report. Later reads throw this error until an operator ends the refusal. */
  readonly #refusals = new Map<string, SyncError>()

  constructor(settings: ClientSettings, dependencies: ClientDependencies) {
    const { clock, onEvent = doNothing, observe = unobserved, dispatcher, tokenStore, sharedPauses } = dependencies
    const { baseUrl, concurrency, requestsPerSecond } = settings
    this.#settings = settings
    this.#limits = { ...DEFAULT_LIMITS, ...settings.limits }
    this.#clock = clock
    this.#emit = onEvent
    this.#observe = observe
    this.#redactor = new Redactor(settings.clientSecret)
    this.#serviceClock = new ServiceClock(clock)
    this.#limiter = new Limiter({ concurrency, requestsPerSecond, pauseMsMax: this.#limits.retryAfterMsMax }, clock)
    this.#pauses = new PauseWatch(sharedPauses, clock)
    this.#transport = new Transport({ baseUrl, connections: concurrency, limits: this.#limits, clock, dispatcher })
    this.#tokens = new TokenCache({
      clock,
      store: tokenStore,
      request: (signal) => this.#requestToken(signal),
      onRefreshed: ({ expiresAt }) => this.#emit({ kind: 'token refreshed', expiresAt }),
    })
  }

  async read<T>(request: ReportRequest<T>, signal?: AbortSignal): Promise<Answer<T>> {
    using linked = linkedSignal([signal, this.#closing.signal])
    const { signal: stop } = linked
    const permit = () => this.#permit(stop, request.priority)
    return await withRetries(() => this.#attempt(request, stop), this.#retryOptions(request.report, stop, permit))
  }

  async token(signal?: AbortSignal): Promise<{ expiresAt: Instant; scopes: readonly string[] | undefined }> {
    using linked = linkedSignal([signal, this.#closing.signal])
    using _permit = await this.#permit(linked.signal, 'first')
    const { expiresAt, scopes } = await this.#token(linked.signal)
    return { expiresAt, scopes }
  }

  /** Returns the service's earliest possible time. Without Date headers: our time. Without responses: undefined. */
  serviceNow(): Instant | undefined {
    return this.#serviceClock.now()
  }

  /** True if responses have no Date header, so that our own clock is used. */
  get clockIsOurs(): boolean {
    return this.#serviceClock.isOurs
  }

  /** Forgets refusals of the credentials and of `report` (undefined: all reports), because an operator has acted. */
  async resume(report?: string): Promise<void> {
    if (report === undefined) this.#refusals.clear()
    else this.#refusals.delete(report)
    // A cached token lacks scopes that were granted after it was issued.
    await this.#tokens.forget()
  }

  /** Forgets the refusal of the report, because another process has ended the report's pause. */
  forgetRefusal(report: string): void {
    this.#refusals.delete(report)
  }

  async close(): Promise<void> {
    this.#closing.abort(cancelled('the client was closed'))
    await this.#transport.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #attempt<T>(request: ReportRequest<T>, signal: AbortSignal): Promise<Answer<T>> {
    const answer = await this.#authorised(request, signal)
    const refusal = reportRefusal(answer, this.#contextOf(request))
    if (refusal?.code === 'REPORT_FORBIDDEN' && request.forbids !== 'request') this.#rememberRefusal(refusal)
    if (refusal !== undefined) throw refusal
    const servedAt = this.#observeClock(answer)
    const bytes = answer.bytes.length
    const askedAt = this.#serviceClock.at(answer.sentMs)
    return { value: await request.parse(answer.bytes), servedAt, askedAt, bytes }
  }

  /**
   * After a 401, tries again with a new token (spec §5, rule 4). If the service also refuses a token that was requested
   * after the first 401, the scope is missing.
   */
  async #authorised(request: ReportRequest<unknown>, signal: AbortSignal): Promise<RawAnswer> {
    let issuedBefore = Number.POSITIVE_INFINITY
    for (let tried = 1; tried <= TOKENS_TRIED_MAX; tried += 1) {
      const { answer, token, issued } = await this.#exchange(request, signal)
      if (answer.status !== 401) return answer
      if (token.issue > issuedBefore) break
      issuedBefore = Math.min(issuedBefore, issued)
      await this.#tokens.drop(token)
      this.#emit({ kind: 'token refused', report: request.report })
    }
    const refusal = scopeMissing(this.#contextOf(request))
    this.#rememberRefusal(refusal)
    throw refusal
  }

  async #exchange(request: ReportRequest<unknown>, signal: AbortSignal) {
    const refusal = this.#refusals.get(request.report)
    if (refusal !== undefined) throw refusal
    const token = await this.#token(signal)
    const { report, path, body } = request
    const { answerBytesMax } = this.#limits
    const issued = this.#tokens.issued
    this.counters.requests += 1
    const post: Post = { path: REPORTS_PATH + path, body, bearer: token.secret, report, answerBytesMax }
    return { answer: await this.#post({ what: 'request', report }, post, signal), token, issued }
  }

  async #token(signal: AbortSignal): Promise<Token> {
    const token = await this.#tokens.current(signal)
    this.#redactor.hide(token.secret)
    return token
  }

  #post(subject: Subject, post: Post, signal: AbortSignal): Promise<RawAnswer> {
    return this.#observe(subject, async (note) => {
      const answer = await this.#transport.post(post, signal)
      note({ status: answer.status, bytes: answer.bytes.length })
      return answer
    })
  }

  async #requestToken(signal: AbortSignal): Promise<IssuedToken> {
    const { clientId, clientSecret, scopes = [] } = this.#settings
    if (await clientSecret.readAgain()) this.#emit({ kind: 'secret changed' })
    const post: Post = {
      path: TOKEN_PATH,
      body: {
        clientId,
        clientSecret: clientSecret.reveal(),
        ...(scopes.length === 0 ? {} : { scopes: scopes.join(' ') }),
      },
      report: undefined,
      answerBytesMax: TOKEN_ANSWER_BYTES_MAX,
    }
    const attempt = async () => {
      this.counters.tokenRequests += 1
      const answer = await this.#post({ what: 'token' }, post, signal)
      return issuedToken(answer, { report: undefined, redactor: this.#redactor })
    }
    return await withRetries(attempt, this.#retryOptions(undefined, signal, noPermit))
  }

  /** Waits for a permit. If another process has stored a pause, also waits until the pause ends. */
  async #permit(signal: AbortSignal, priority: Priority | undefined): Promise<Permit> {
    for (;;) {
      const permit = await this.#limiter.acquire(signal, priority)
      const pauseMs = await this.#pauses.remainingMs()
      if (pauseMs <= 0) return permit
      this.#limiter.pause(pauseMs)
      permit[Symbol.dispose]()
    }
  }

  /** Returns the options for retries. A 429 or a Retry-After pauses this client and all other processes. */
  #retryOptions(report: string | undefined, signal: AbortSignal, permit: () => Promise<Permit>): RetryOptions {
    return {
      permit,
      clock: this.#clock,
      rules: this.#limits,
      signal,
      onPause: (failed, pauseMs) => {
        const throttled = isThrottled(failed)
        if (throttled) this.counters.throttled += 1
        this.#limiter.pause(pauseMs)
        this.#pauses.share(pauseMs)
        this.#emit({ kind: throttled ? 'throttled' : 'wait requested', report, pauseMs })
      },
      onRetry: (failed, attempt, delayMs) => {
        this.counters.retries += 1
        this.#emit({ kind: 'retry', report, code: failed.code, attempt, delayMs })
      },
    }
  }

  #observeClock(answer: RawAnswer): Instant {
    const wereOurs = this.#serviceClock.isOurs
    const servedAt = this.#serviceClock.observe(answer)
    if (!wereOurs && this.#serviceClock.isOurs) this.#emit({ kind: 'clock is ours' })
    return servedAt
  }

  #rememberRefusal(refusal: SyncError): void {
    if (refusal.report !== undefined) this.#refusals.set(refusal.report, refusal)
  }

  #contextOf({ report, scope }: ReportRequest<unknown>): RequestContext {
    return { report, scope, redactor: this.#redactor }
  }
}
