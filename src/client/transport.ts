/** Sends one POST without redirects or retries. A deadline also ends responses whose body arrives very slowly. */
import type { Socket } from 'node:net'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { Clock } from '../clock.ts'
import { SyncError, asSyncError, cancelled, filesExhausted, isOutOfFiles } from '../errors.ts'
import { fromMillis, type Instant, millisBetween } from '../instant.ts'
import type { Secret } from '../secret.ts'
import { bodyOf, readBytes } from './body.ts'
import { linkedSignal, raced, throwIfAborted } from './cancellation.ts'
import { type ClientLimits, REFUSAL_BODY_BYTES_MAX } from './limits.ts'

export interface Post {
  path: string
  body: Readonly<Record<string, unknown>>
  bearer?: Secret
  report: string | undefined
  answerBytesMax: number
}

export interface RawAnswer {
  status: number
  contentType: string
  redirectHost: string | undefined
  retryAfterMs: number | undefined
  date: Instant | undefined
  bytes: Buffer
  sentMs: number
  arrivedMs: number
}

export interface TransportSettings {
  baseUrl: URL
  connections: number
  limits: ClientLimits
  clock: Clock
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

  /** Throws SERVICE_UNREACHABLE, SERVICE_TIMEOUT, ANSWER_TOO_LARGE or the reason of the abort. */
  async post(post: Post, signal: AbortSignal): Promise<RawAnswer> {
    throwIfAborted(signal)
    const { clock, limits, baseUrl } = this.#settings
    using linked = linkedSignal([signal])
    const cancel = clock.after(limits.answerMs, () => linked.abort(timeoutError(post.report, limits.answerMs)))
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
      cancel()
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

  /** If the body of an error response can't be read, returns no bytes, because the status is enough for the error. */
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
      // A date in Retry-After is in the service's time, so it is compared with the Date header.
      retryAfterMs: parseRetryAfter(first(head.headers['retry-after']), date ?? this.#settings.clock.now()),
      date,
    }
  }
}

function openPool({ baseUrl, connections, limits }: TransportSettings): Pool {
  const connect = buildConnector({ timeout: limits.connectMs, allowH2: false })
  return new Pool(baseUrl.origin, {
    connections,
    connect: (options, callback) =>
      connect(options, (...result) => {
        // After a failure undici passes only the error: the second argument is undefined, not null.
        if (result[0] === null) readPastContinue(result[1])
        callback(...result)
      }),
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.bodyMs,
    // Each connection has one request, so that an abort affects one request only.
    allowH2: false,
    pipelining: 1,
  })
}

/** Matches an interim response `100 Continue`. JSON never matches, because a JSON string contains no line break. */
const CONTINUE = /^HTTP\/1\.1 100(?= [^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n)/

/** Changes an interim response 100 to 102, because undici closes the connection after an unsolicited 100. */
function readPastContinue(socket: Socket): void {
  const read = socket.read.bind(socket)
  socket.read = (size) => {
    const bytes: unknown = read(size)
    if (!(bytes instanceof Buffer) || bytes[0] !== 72) return bytes
    const text = bytes.toString('latin1')
    return CONTINUE.test(text) ? Buffer.from(text.replace(CONTINUE, 'HTTP/1.1 102'), 'latin1') : bytes
  }
}

const first = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header

/** Returns only the host. The path and the query of a Location may contain a session or parts of the request. */
function hostOf(location: string | undefined, baseUrl: URL): string | undefined {
  if (location === undefined || !URL.canParse(location, baseUrl.href)) return undefined
  return new URL(location, baseUrl).host
}

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
/** A later date is an error of the sender, and an Instant can't represent times after 2255. */
const MS_MAX = Date.UTC(2200, 0)

/** Reads an HTTP date (RFC 9110 §5.6.7). Returns undefined for obsolete forms and other text. */
export function parseHttpDate(text: string | undefined): Instant | undefined {
  if (text === undefined || !IMF_FIXDATE.test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) || ms < 0 || ms > MS_MAX ? undefined : fromMillis(ms)
}

/** Returns the time (ms) to wait that `Retry-After` contains (RFC 9110 §10.2.3), or undefined for invalid text. */
export function parseRetryAfter(text: string | undefined, now: Instant): number | undefined {
  const trimmed = text?.trim()
  if (trimmed === undefined) return undefined
  if (/^\d{1,12}$/.test(trimmed)) return Number(trimmed) * 1_000
  const until = parseHttpDate(trimmed)
  return until === undefined ? undefined : Math.max(0, millisBetween(now, until))
}

const CLOSED = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED'])
const SILENT = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
/** With these codes, undici reports a wrong call. This is a defect of Tidemark, not of the network. */
const DEFECTS = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED', 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'])
const CERTIFICATE = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/

interface Destination {
  host: string
  report: string | undefined
}

function connectionError(error: unknown, { host, report }: Destination): SyncError {
  const reason = codeOf(error)
  if (reason === undefined || DEFECTS.has(reason)) return asSyncError(error)
  if (CLOSED.has(reason)) return cancelled('the client was closed')
  if (isOutOfFiles(reason)) return filesExhausted(reason)
  const details = { data: { host, reason }, report }
  if (SILENT.has(reason)) {
    return new SyncError('SERVICE_TIMEOUT', `the service at ${host} stopped answering`, {
      cure: TIMEOUT_CURE,
      ...details,
    })
  }
  const what = `no answer from the service at ${host}: ${reason}`
  return new SyncError('SERVICE_UNREACHABLE', what, { cure: cureOf(reason), ...details })
}

function timeoutError(report: string | undefined, answerMs: number): SyncError {
  return new SyncError('SERVICE_TIMEOUT', `the answer was not complete after ${answerMs / 1_000} s`, {
    cure: TIMEOUT_CURE,
    data: { answerMs },
    report,
  })
}

const TIMEOUT_CURE = 'Try again later; if it happens again, lower page_size or turn expand flags off for this report.'

function cureOf(reason: string): string {
  if (CERTIFICATE.test(reason)) {
    return 'Check that service.base_url answers https with a valid certificate; NODE_EXTRA_CA_CERTS adds an authority.'
  }
  if (reason === 'ENOTFOUND') return 'Check the host name in service.base_url and this machine’s DNS.'
  return 'Check service.base_url and the network between this machine and the service; then start it again.'
}

/** Returns the error's code. If all addresses of a host failed, returns the code of the first error. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  // The data of a parser error contains parts of the response, so it is not used.
  if (error.name === 'HTTPParserError') return 'NOT_HTTP'
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined
}
