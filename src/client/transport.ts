/** Sends one request, without redirects or retries. */
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { Clock } from '../clock.ts'
import { type ErrorDetails, SyncError, asSyncError, cancelled, filesExhausted, isOutOfFiles } from '../errors.ts'
import { fromMillis, type Instant, millisBetween } from '../instant.ts'
import type { Secret } from '../secret.ts'
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
    const { report } = post
    const { answerMs } = limits
    const cancel = clock.after(answerMs, () =>
      linked.abort(timeoutError(`the answer was not complete after ${answerMs / 1_000} s`, { answerMs }, report)),
    )
    const sentMs = clock.monotonicMs()
    try {
      const head = await raced(this.#send(post, linked.signal), linked.signal)
      const arrivedMs = clock.monotonicMs()
      const bytes = await this.#body(head, post, linked.signal)
      return { ...this.#headOf(head), bytes, sentMs, arrivedMs }
    } catch (error) {
      throwIfAborted(linked.signal)
      throw error instanceof SyncError ? error : connectionError(error, baseUrl.host, report)
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

  async #body(head: Head, { report, answerBytesMax }: Post, signal: AbortSignal): Promise<Buffer> {
    if (head.statusCode === 200) return await raced(bodyOf(head, report, answerBytesMax), signal)
    // If the body cannot be read, the error depends on the status alone.
    const body = bodyOf(head, report, REFUSAL_BODY_BYTES_MAX).catch(() => Buffer.alloc(0))
    return await raced(body, signal)
  }

  #headOf(head: Head): Omit<RawAnswer, 'bytes' | 'sentMs' | 'arrivedMs'> {
    const date = parseHttpDate(first(head.headers['date']))
    return {
      status: head.statusCode,
      contentType: first(head.headers['content-type']) ?? '',
      redirectHost: hostOf(first(head.headers['location']), this.#settings.baseUrl),
      // A date in Retry-After refers to the service's clock, so it is compared with the response's Date.
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
        if (result[0] === null) readPastContinue(result[1])
        callback(...result)
      }),
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.bodyMs,
    // HTTP/2 requests share a connection, so an abort could affect other requests.
    allowH2: false,
    pipelining: 1,
  })
}

/** Matches a 100 response. Never matches inside JSON, because a JSON string contains no line break. */
const CONTINUE = /^HTTP\/1\.1 100(?= [^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n)/

/** Turns an unsolicited 100 response into a 102 response. After a 100 response, undici would close the connection. */
function readPastContinue(socket: Socket): void {
  const read = socket.read.bind(socket)
  socket.read = (size) => {
    const bytes: unknown = read(size)
    if (!(bytes instanceof Buffer) || bytes[0] !== 72) return bytes
    const text = bytes.toString('latin1')
    return CONTINUE.test(text) ? Buffer.from(text.replace(CONTINUE, 'HTTP/1.1 102'), 'latin1') : bytes
  }
}

const DECOMPRESSORS = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['br', promisify(brotliDecompress)],
])

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Limits the decompressed size too, because a small body may expand to gigabytes. */
async function bodyOf(head: Head, report: string | undefined, bytesMax: number): Promise<Buffer> {
  const { 'content-encoding': encoding } = head.headers
  const names = (first(encoding) ?? '').split(',').map((name) => name.trim().toLowerCase())
  let bytes = await sentBytes(head, report, bytesMax)
  // The header names the encodings in the order of their use (RFC 9110 §8.4).
  for (const name of names.toReversed()) {
    if (name === '' || name === 'identity') continue
    const decompress = DECOMPRESSORS.get(name)
    if (decompress === undefined) throw unreadable('a content encoding that was not requested', report)
    bytes = await decompress(bytes, { maxOutputLength: bytesMax }).catch((error: unknown) => {
      throw codeOf(error) === 'ERR_BUFFER_TOO_LARGE'
        ? tooLarge(report, bytesMax)
        : unreadable(`broken ${name} data`, report)
    })
  }
  return bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes
}

async function sentBytes({ body, headers }: Head, report: string | undefined, bytesMax: number): Promise<Buffer> {
  // Without this listener, an abort would crash the process.
  body.on('error', () => undefined)
  if (Number(headers['content-length']) > bytesMax) {
    body.destroy()
    throw tooLarge(report, bytesMax)
  }
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bytesMax) throw tooLarge(report, bytesMax)
    pieces.push(piece)
  }
  return Buffer.concat(pieces, bytes)
}

const tooLarge = (report: string | undefined, answerBytesMax: number): SyncError =>
  new SyncError('ANSWER_TOO_LARGE', `the answer is larger than ${answerBytesMax} bytes`, {
    cure:
      report === undefined
        ? 'Check that service.base_url is the reporting service and not a page in front of it.'
        : 'Lower page_size, or turn expand flags off for this report; only if one row alone is that large, raise limits.page_bytes_max.',
    data: { answerBytesMax },
    report,
  })

const unreadable = (what: string, report: string | undefined): SyncError =>
  new SyncError('ANSWER_MALFORMED', `the answer cannot be read: ${what}`, {
    cure: 'Try again; if it happens again, ask the owner of the service or of the proxy in front of it.',
    report,
  })

const first = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header)

/** Returns only the host, because the path of a Location may contain a session or parts of the request. */
function hostOf(location: string | undefined, baseUrl: URL): string | undefined {
  return location === undefined ? undefined : URL.parse(location, baseUrl.href)?.host
}

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const PLAUSIBLE_DATE_MS_MAX = Date.UTC(2200, 0)

/** Returns undefined for text that is not a modern HTTP date (RFC 9110 §5.6.7). */
export function parseHttpDate(text: string | undefined): Instant | undefined {
  if (text === undefined || !IMF_FIXDATE.test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) || ms < 0 || ms > PLAUSIBLE_DATE_MS_MAX ? undefined : fromMillis(ms)
}

/** Returns the pause in milliseconds, or undefined for invalid text (RFC 9110 §10.2.3). */
export function parseRetryAfter(text: string | undefined, now: Instant): number | undefined {
  const trimmed = text?.trim()
  if (trimmed === undefined) return undefined
  if (/^\d{1,12}$/.test(trimmed)) return Number(trimmed) * 1_000
  const until = parseHttpDate(trimmed)
  return until === undefined ? undefined : Math.max(0, millisBetween(now, until))
}

const CLOSED = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED'])
const SILENT = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
/** These codes of undici mean that our code called it incorrectly, which is a bug. */
const DEFECTS = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED', 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'])
const CERTIFICATE = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/

function connectionError(error: unknown, host: string, report: string | undefined): SyncError {
  const reason = codeOf(error)
  if (reason === undefined || DEFECTS.has(reason)) return asSyncError(error)
  if (CLOSED.has(reason)) return cancelled('the client was closed')
  if (isOutOfFiles(reason)) return filesExhausted(reason)
  const data = { host, reason }
  if (SILENT.has(reason)) return timeoutError(`the service at ${host} stopped answering`, data, report)
  const what = `no answer from the service at ${host}: ${reason}`
  return new SyncError('SERVICE_UNREACHABLE', what, { cure: cureOf(reason), data, report })
}

const timeoutError = (what: string, data: ErrorDetails['data'] & {}, report: string | undefined): SyncError =>
  new SyncError('SERVICE_TIMEOUT', what, {
    cure: 'Try again later; if it happens again, lower page_size or turn expand flags off for this report.',
    data,
    report,
  })

function cureOf(reason: string): string {
  if (CERTIFICATE.test(reason)) {
    return 'Check that service.base_url answers https with a valid certificate; NODE_EXTRA_CA_CERTS adds an authority.'
  }
  if (reason === 'ENOTFOUND') return 'Check the host name in service.base_url and this machine’s DNS.'
  return 'Check service.base_url and the network between this machine and the service. A worker tries again by itself; a command must be run again.'
}

/** If all addresses of a host failed, returns the code of the first error. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  // A parser error contains part of the response, which may be private.
  if (error.name === 'HTTPParserError') return 'NOT_HTTP'
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined
}
