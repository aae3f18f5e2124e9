/**
 * One connection pool and one attempt: sends a POST and brings back status, a few headers and the whole body, or a
 * SyncError that says how the connection failed. It never follows redirects and never repeats anything. Each attempt
 * is raced against a deadline outside the stream, since a body that drips for ever satisfies every silence timeout.
 */
import { type Dispatcher, Pool } from 'undici'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import type { Instant } from '../instant.ts'
import type { Secret } from '../secret.ts'
import { bodyOf, readBytes } from './body.ts'
import { linkedSignal, raced, throwIfAborted } from './cancellation.ts'
import { parseHttpDate, parseRetryAfter } from './httpDate.ts'
import { type ClientLimits, REFUSAL_BODY_BYTES_MAX } from './limits.ts'
import { connectionError, timeoutError } from './connectionErrors.ts'

export interface Post {
  /** After the base URL: '/reportingapi/v1/…' or '/authenticationapi/…'. */
  path: string
  body: Readonly<Record<string, unknown>>
  bearer?: Secret
  /** For errors; undefined for the token request. */
  report: string | undefined
  answerBytesMax: number
}

/** An answer with any status, its body decompressed. */
export interface RawAnswer {
  status: number
  contentType: string
  /** The host that a redirect points at. */
  redirectHost: string | undefined
  retryAfterMs: number | undefined
  date: Instant | undefined
  bytes: Buffer
  /** Monotonic times of the request's start and of the head's arrival. */
  sentMs: number
  arrivedMs: number
}

export interface TransportSettings {
  baseUrl: URL
  connections: number
  limits: ClientLimits
  clock: Clock
  /** Somebody else's pool, agent or proxy; then it is theirs to close. */
  dispatcher?: Dispatcher | undefined
}

type Head = Dispatcher.ResponseData

export class Transport {
  readonly #settings: TransportSettings
  readonly #dispatcher: Dispatcher
  readonly #prefix: string

  constructor(settings: TransportSettings) {
    this.#settings = settings
    this.#dispatcher = settings.dispatcher ?? openPool(settings)
    this.#prefix = settings.baseUrl.pathname.replace(/\/+$/, '')
  }

  /** Sends once. Rejects with SERVICE_UNREACHABLE, SERVICE_TIMEOUT, ANSWER_TOO_LARGE or the abort's reason. */
  async post(post: Post, signal: AbortSignal): Promise<RawAnswer> {
    throwIfAborted(signal)
    const { clock, limits, baseUrl } = this.#settings
    using linked = linkedSignal([signal])
    const callOff = clock.after(limits.answerMs, () => linked.abort(timeoutError(post.report, limits.answerMs)))
    const sentMs = clock.monotonicMs()
    try {
      const head = await raced(this.#send(post, linked.signal), linked.signal)
      const arrivedMs = clock.monotonicMs()
      const bytes = await this.#body(head, post, linked.signal)
      return { ...this.#headOf(head), bytes, sentMs, arrivedMs }
    } catch (error) {
      throwIfAborted(linked.signal)
      throw error instanceof SyncError ? error : connectionError(error, { host: baseUrl.host, report: post.report })
    } finally {
      callOff()
    }
  }

  async close(): Promise<void> {
    if (this.#settings.dispatcher === undefined) await this.#dispatcher.destroy()
  }

  #send(post: Post, signal: AbortSignal): Promise<Head> {
    const { baseUrl, limits } = this.#settings
    return this.#dispatcher.request({
      origin: baseUrl.origin,
      path: this.#prefix + post.path,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'accept-encoding': 'gzip, br',
        'user-agent': 'tidemark',
        ...(post.bearer === undefined ? {} : { authorization: `Bearer ${post.bearer.reveal()}` }),
      },
      body: JSON.stringify(post.body),
      headersTimeout: limits.headersMs,
      bodyTimeout: limits.bodyMs,
      signal,
    })
  }

  /** A refusal's body only explains: where it cannot be read, its status still stands. */
  async #body(head: Head, post: Post, signal: AbortSignal): Promise<Buffer> {
    const isAnswer = head.statusCode === 200
    const bytesMax = isAnswer ? post.answerBytesMax : REFUSAL_BODY_BYTES_MAX
    const source = { report: post.report, encoding: first(head.headers['content-encoding']), bytesMax }
    const body = readBytes(head, source).then((bytes) => bodyOf(bytes, source))
    try {
      return await raced(body, signal)
    } catch (error) {
      throwIfAborted(signal)
      if (isAnswer) throw error
      return Buffer.alloc(0)
    }
  }

  #headOf(head: Head): Omit<RawAnswer, 'bytes' | 'sentMs' | 'arrivedMs'> {
    const date = parseHttpDate(first(head.headers['date']))
    return {
      status: head.statusCode,
      contentType: first(head.headers['content-type']) ?? '',
      redirectHost: hostOf(first(head.headers['location']), this.#settings.baseUrl),
      // An HTTP-date is on the service's clock, which its own Date header tells best.
      retryAfterMs: parseRetryAfter(first(head.headers['retry-after']), date ?? this.#settings.clock.now()),
      date,
    }
  }
}

function openPool({ baseUrl, connections, limits }: TransportSettings): Pool {
  return new Pool(baseUrl.origin, {
    connections,
    connectTimeout: limits.connectMs,
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.bodyMs,
    // One protocol to know by heart: a pool of HTTP/1.1 connections, one request on each.
    allowH2: false,
    pipelining: 1,
  })
}

const first = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header

/** Only the host: a redirect's path and query may carry a session or what we sent. */
function hostOf(location: string | undefined, baseUrl: URL): string | undefined {
  if (location === undefined || !URL.canParse(location, baseUrl.href)) return undefined
  return new URL(location, baseUrl).host
}
