/** Sends a response, and applies faults of the transport: cut, slow, endless or missing bodies, and wrong dates. */
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Clock } from '../clock.ts'
import type { Answer } from './answer.ts'
import type { FaultPlace, Faults } from './faults.ts'
import type { Compression } from './options.ts'

const MEGABYTE = 1_024 * 1_024
const COMPRESS_MIN_BYTES = 1_024
const BROTLI_QUALITY = 4

const compressors: Readonly<Record<Exclude<Compression, 'none'>, (body: Buffer) => Promise<Buffer>>> = {
  gzip: promisify(gzip),
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
}

export interface Delivery {
  readonly response: ServerResponse
  readonly acceptEncoding: string
  readonly place: FaultPlace | undefined
}

export interface SenderOptions {
  readonly clock: Clock
  readonly faults: Faults
  readonly compress: Compression
  readonly nowSeconds: () => number
}

export class Sender {
  readonly #options: SenderOptions

  constructor(options: SenderOptions) {
    this.#options = options
  }

  async send(answer: Answer, delivery: Delivery): Promise<void> {
    const { response, place } = delivery
    const body = await this.#encode(this.#pad(answer, place), delivery)
    response.sendDate = false
    if (this.#options.faults.take('no-date', place ?? 'token') === undefined)
      response.setHeader('Date', new Date(this.#options.nowSeconds() * 1_000).toUTCString())
    response.setHeader('Content-Type', answer.contentType ?? 'application/json; charset=utf-8')
    for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value)
    response.statusCode = answer.status
    if (place === undefined || answer.status !== 200 || !this.#sendFaulty(response, body, place)) {
      response.setHeader('Content-Length', body.length)
      response.end(body)
    }
  }

  #pad({ body, status }: Answer, place: FaultPlace | undefined): Buffer {
    const bytes = Buffer.from(body)
    const megabytes = place === undefined || status !== 200 ? undefined : this.#options.faults.takeNumber('huge', place)
    return megabytes === undefined ? bytes : Buffer.concat([bytes, Buffer.alloc(megabytes * MEGABYTE, ' ')])
  }

  async #encode(body: Buffer, { response, acceptEncoding }: Delivery): Promise<Buffer> {
    const { compress } = this.#options
    if (compress === 'none' || body.length < COMPRESS_MIN_BYTES || !accepts(acceptEncoding, compress)) return body
    response.setHeader('Content-Encoding', compress)
    response.setHeader('Vary', 'Accept-Encoding')
    return compressors[compress](body)
  }

  #sendFaulty(response: ServerResponse, body: Buffer, place: FaultPlace): boolean {
    const { faults } = this.#options
    const half = Math.floor(body.length / 2)
    if (faults.take('truncate', place) !== undefined) {
      response.setHeader('Content-Length', half)
      response.end(body.subarray(0, half))
      return true
    }
    if (faults.take('reset', place) !== undefined) {
      response.setHeader('Content-Length', body.length)
      response.write(body.subarray(0, half), () => response.socket?.resetAndDestroy())
      return true
    }
    if (faults.take('silent', place) !== undefined) {
      response.setHeader('Content-Length', body.length)
      response.flushHeaders()
      return true
    }
    const everyMs = faults.takeNumber('drip', place)
    if (everyMs === undefined) return false
    response.flushHeaders()
    this.#drip(response, { body, at: 0, everyMs })
    return true
  }

  /** Sends the body byte by byte. Afterwards sends spaces without end. */
  #drip(response: ServerResponse, { body, at, everyMs }: { body: Buffer; at: number; everyMs: number }): void {
    if (response.destroyed || response.socket === null) return
    response.write(at < body.length ? body.subarray(at, at + 1) : ' ')
    this.#options.clock.after(everyMs, () => this.#drip(response, { body, at: at + 1, everyMs }))
  }
}

const accepts = (acceptEncoding: string, coding: string): boolean =>
  acceptEncoding.split(',').some((each) => each.split(';')[0]?.trim().toLowerCase() === coding)
