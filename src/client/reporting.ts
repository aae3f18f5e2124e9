/**
 * The authenticated client, composed in sight: a read is a row of attempts, each under a permit; an attempt is an
 * exchange, repeated once with a new token after a 401; an exchange is a token and one POST. The client knows no
 * reports: a request carries its path, its body and how its bytes become a value.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../clock.ts'
import type { SyncError } from '../errors.ts'
import type { Instant } from '../instant.ts'
import { type Observe, type Subject, unobserved } from '../observe.ts'
import type { Secret } from '../secret.ts'
import { type Asked, reportRefusal, scopeMissing } from './answers.ts'
import { type Persistence, persistently } from './attempts.ts'
import { cancelled, linkedSignal } from './cancellation.ts'
import type { ClientEvent } from './events.ts'
import { Limiter, type Permit, type Priority } from './limiter.ts'
import { type ClientLimits, limitsFrom, TOKEN_ANSWER_BYTES_MAX, TOKENS_TRIED_MAX } from './limits.ts'
import { Redactor } from './redaction.ts'
import { isThrottled } from './retry.ts'
import { ServiceClock } from './serviceClock.ts'
import { PauseWatch, type SharedPauses } from './sharedPauses.ts'
import { type IssuedToken, issuedToken } from './tokenAnswers.ts'
import { type Token, TokenCache, type TokenStore } from './tokens.ts'
import { type Post, type RawAnswer, Transport } from './transport.ts'

export type { ClientEvent } from './events.ts'
export type { Priority } from './limiter.ts'
export type { ClientLimits } from './limits.ts'
export type { SharedPauses } from './sharedPauses.ts'
export type { StoredToken, TokenStore } from './tokens.ts'

export interface ClientSettings {
  /** The host root of the service; a path in it is kept as a prefix. */
  baseUrl: URL
  clientId: string
  clientSecret: Secret
  /** Undefined or empty: the client's default scopes apply (spec §4). */
  scopes?: readonly string[] | undefined
  /** How many requests may be under way at once at most; how many are is learnt from the service. */
  concurrency: number
  requestsPerSecond?: number | undefined
  limits?: Partial<ClientLimits> | undefined
}

export interface ClientParts {
  clock: Clock
  /** For logs; must not throw. */
  onEvent?: ((event: ClientEvent) => void) | undefined
  /** Watches each request that is sent, those for tokens too. */
  observe?: Observe | undefined
  /** Used instead of a pool of the client's own, and left open. */
  dispatcher?: Dispatcher | undefined
  /** Shares one token with other processes. */
  tokenStore?: TokenStore | undefined
  /** Keeps every pause that the service asks any process for. */
  sharedPauses?: SharedPauses | undefined
}

export interface ReportRequest<T> {
  /** The report's name, for errors. */
  report: string
  /** '/v1/EventReport/GetEventsReport': the client puts base URL and '/reportingapi' before it. */
  path: string
  body: Readonly<Record<string, unknown>>
  /** The scope that grants this report, where it is known: the cure of SCOPE_MISSING names it. */
  scope?: string | undefined
  /**
   * What a 403 speaks of. `report` (the default): further reads of the report fail at once. `request`: only this one,
   * as with the audit of one enquiry that the client may not view (spec §7).
   */
  forbids?: 'report' | 'request' | undefined
  /** `first` (the default) is served before `behind`, which still gets a turn now and then: backfills. */
  priority?: Priority | undefined
  /**
   * Turns the bytes into a value. A transient SyncError (ANSWER_MALFORMED) counts as a failed attempt and is retried;
   * anything else that it throws reaches the caller.
   */
  parse(bytes: Buffer): T | Promise<T>
}

export interface Answer<T> {
  value: T
  /** The answer's Date header (whole seconds), or the best that is known instead. */
  servedAt: Instant
  /** How many bytes the answer had, decompressed. */
  bytes: number
}

export interface ClientCounters {
  /** Report requests sent, retries included. */
  requests: number
  tokenRequests: number
  retries: number
  /** Decompressed bytes of the answers that were handed to `parse`. */
  bytes: number
  /** Answers with status 429. */
  throttled: number
}

export interface ReportingClient extends AsyncDisposable {
  /** Asks for one answer, with a valid token, within all limits, as often as it takes. */
  read<T>(request: ReportRequest<T>, signal?: AbortSignal): Promise<Answer<T>>
  /** A lower bound of the service's clock now; our clock where answers carry no Date; undefined before any answer. */
  serviceNow(): Instant | undefined
  /** True when answers came without a Date header, so that our own clock stands in. */
  readonly clockIsOurs: boolean
  /** Asks for a token, or uses the cached one, and tells what it grants. */
  token(signal?: AbortSignal): Promise<{ expiresAt: Instant; scopes: readonly string[] | undefined }>
  /** An operator has acted: forgets what was refused for this report (or for all) and refused credentials. */
  resume(report?: string): Promise<void>
  /** Whoever keeps the books says that this report may be asked: what this process remembers of a refusal is outdated. */
  forgetRefusal(report: string): void
  readonly counters: Readonly<ClientCounters>
  /** Cancels what is under way and closes the connections. */
  close(): Promise<void>
}

const REPORTS_PATH = '/reportingapi'
const TOKEN_PATH = '/authenticationapi/Account/RequestToken'

/** Whoever waits for a token has a permit already. */
const haveOne = async (): Promise<Permit> => ({ answered: doNothing, strained: doNothing, [Symbol.dispose]: doNothing })

function doNothing(): void {}

/** Opens a client; whoever opens it closes it. Nothing is sent before the first call. */
export function openClient(settings: ClientSettings, parts: ClientParts): ReportingClient {
  return new Client(settings, parts)
}

class Client implements ReportingClient {
  readonly counters: ClientCounters = { requests: 0, tokenRequests: 0, retries: 0, bytes: 0, throttled: 0 }
  readonly #settings: ClientSettings
  readonly #limits: ClientLimits
  readonly #clock: Clock
  readonly #tell: (event: ClientEvent) => void
  readonly #watched: Observe
  readonly #transport: Transport
  readonly #limiter: Limiter
  readonly #pauses: PauseWatch
  readonly #tokens: TokenCache
  readonly #serviceClock: ServiceClock
  readonly #redactor: Redactor
  readonly #closing = new AbortController()
  /** Reports that the service does not let us read, and why: not asked again until an operator acts. */
  readonly #refusals = new Map<string, SyncError>()

  constructor(settings: ClientSettings, parts: ClientParts) {
    const { clock, onEvent = doNothing, observe = unobserved, dispatcher, tokenStore, sharedPauses } = parts
    const { baseUrl, concurrency, requestsPerSecond } = settings
    this.#settings = settings
    this.#limits = limitsFrom(settings.limits)
    this.#clock = clock
    this.#tell = onEvent
    this.#watched = observe
    this.#redactor = new Redactor(settings.clientSecret)
    this.#serviceClock = new ServiceClock(clock)
    this.#limiter = new Limiter({ concurrency, requestsPerSecond, pauseMsMax: this.#limits.retryAfterMsMax }, clock)
    this.#pauses = new PauseWatch(sharedPauses, clock)
    this.#transport = new Transport({ baseUrl, connections: concurrency, limits: this.#limits, clock, dispatcher })
    this.#tokens = new TokenCache({
      clock,
      store: tokenStore,
      request: (signal) => this.#requestToken(signal),
      onRefreshed: ({ expiresAt }) => this.#tell({ kind: 'token refreshed', expiresAt }),
    })
  }

  async read<T>(request: ReportRequest<T>, signal?: AbortSignal): Promise<Answer<T>> {
    using linked = linkedSignal([signal, this.#closing.signal])
    const { signal: stop } = linked
    const permit = () => this.#permit(stop, request.priority)
    return await persistently(() => this.#attempt(request, stop), this.#persistence(request.report, stop, permit))
  }

  async token(signal?: AbortSignal): Promise<{ expiresAt: Instant; scopes: readonly string[] | undefined }> {
    using linked = linkedSignal([signal, this.#closing.signal])
    using _permit = await this.#permit(linked.signal, 'first')
    const { expiresAt, scopes } = await this.#token(linked.signal)
    return { expiresAt, scopes }
  }

  serviceNow(): Instant | undefined {
    return this.#serviceClock.now()
  }

  get clockIsOurs(): boolean {
    return this.#serviceClock.isOurs
  }

  async resume(report?: string): Promise<void> {
    if (report === undefined) this.#refusals.clear()
    else this.#refusals.delete(report)
    // A cached token carries the scopes of the day it was issued.
    await this.#tokens.forget()
  }

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

  /** One attempt: an answer that can be parsed, or a SyncError. */
  async #attempt<T>(request: ReportRequest<T>, signal: AbortSignal): Promise<Answer<T>> {
    const answer = await this.#authorised(request, signal)
    const refusal = reportRefusal(answer, this.#asked(request))
    if (refusal?.code === 'REPORT_FORBIDDEN' && request.forbids !== 'request') this.#refuse(refusal)
    if (refusal !== undefined) throw refusal
    const servedAt = this.#observe(answer)
    this.counters.bytes += answer.bytes.length
    const bytes = answer.bytes.length
    return { value: await request.parse(answer.bytes), servedAt, bytes }
  }

  /**
   * A 401 means a token that is missing, expired or without the scope (spec §5, rule 4). With a token that was issued
   * after the first refused request had been sent, only the scope is left. A token that another process
   * asked for may be as dead as the first, so it proves nothing.
   */
  async #authorised(request: ReportRequest<unknown>, signal: AbortSignal): Promise<RawAnswer> {
    let issuedBefore = Number.POSITIVE_INFINITY
    for (let tried = 1; tried <= TOKENS_TRIED_MAX; tried += 1) {
      const { answer, token, issued } = await this.#exchange(request, signal)
      if (answer.status !== 401) return answer
      if (token.issue > issuedBefore) break
      issuedBefore = Math.min(issuedBefore, issued)
      await this.#tokens.drop(token)
      this.#tell({ kind: 'token refused', report: request.report })
    }
    const refusal = scopeMissing(this.#asked(request))
    this.#refuse(refusal)
    throw refusal
  }

  /** A token and one POST. Refusals are looked up each time: others may have met them while this one waited. */
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
    return this.#watched(subject, async (note) => {
      const answer = await this.#transport.post(post, signal)
      note({ status: answer.status, bytes: answer.bytes.length })
      return answer
    })
  }

  /** Runs within the permit of whoever waits for the token. */
  async #requestToken(signal: AbortSignal): Promise<IssuedToken> {
    const { clientId, clientSecret, scopes = [] } = this.#settings
    if (await clientSecret.readAgain()) this.#tell({ kind: 'secret changed' })
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
    return await persistently(attempt, this.#persistence(undefined, signal, haveOne))
  }

  /** A permit, unless others were asked for a pause in the meantime: then it is given back and waited for once more. */
  async #permit(signal: AbortSignal, priority: Priority | undefined): Promise<Permit> {
    for (;;) {
      const permit = await this.#limiter.acquire(signal, { priority })
      const pauseMs = await this.#pauses.newsMs()
      if (pauseMs <= 0) return permit
      this.#limiter.pause(pauseMs)
      permit[Symbol.dispose]()
    }
  }

  /** A 429 or a Retry-After pauses everything this client sends, even when it met the last attempt, and everybody who shares pauses. */
  #persistence(report: string | undefined, signal: AbortSignal, permit: () => Promise<Permit>): Persistence {
    return {
      permit,
      clock: this.#clock,
      rules: this.#limits,
      signal,
      onPause: (failed, pauseMs) => {
        const throttled = isThrottled(failed)
        if (throttled) this.counters.throttled += 1
        this.#limiter.pause(pauseMs)
        this.#pauses.tell(pauseMs)
        this.#tell({ kind: throttled ? 'throttled' : 'told to wait', report, pauseMs })
      },
      onRetry: (failed, attempt, delayMs) => {
        this.counters.retries += 1
        this.#tell({ kind: 'retry', report, code: failed.code, attempt, delayMs })
      },
    }
  }

  #observe(answer: RawAnswer): Instant {
    const wereOurs = this.#serviceClock.isOurs
    const servedAt = this.#serviceClock.observe(answer)
    if (!wereOurs && this.#serviceClock.isOurs) this.#tell({ kind: 'clock is ours' })
    return servedAt
  }

  #refuse(refusal: SyncError): void {
    if (refusal.report !== undefined) this.#refusals.set(refusal.report, refusal)
  }

  #asked({ report, scope }: ReportRequest<unknown>): Asked {
    return { report, scope, redactor: this.#redactor }
  }
}
