/** Sends a response. Faults can cut its body, or make the body endless. */
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Clock } from '../clock.ts'
import type { Answer } from './answer.ts'
import type { FaultPlace } from './faults.ts'
import type { Compression, SandboxState } from './options.ts'

const MEGABYTE = 1_024 * 1_024
const COMPRESS_MIN_BYTES = 1_024
const BROTLI_QUALITY = 4

const compressors: Readonly<Record<Compression, (body: Buffer) => Buffer | Promise<Buffer>>> = {
  none: (body) => body,
  gzip: promisify(gzip),
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
}

export interface Delivery {
  readonly response: ServerResponse
  readonly acceptEncoding: string
  readonly place: FaultPlace | undefined
}

export async function send(
  { settings, faults, nowSeconds }: SandboxState,
  answer: Answer,
  { response, acceptEncoding, place }: Delivery,
): Promise<void> {
  const faultyPlace = answer.status === 200 ? place : undefined
  const padding = faultyPlace === undefined ? 0 : (faults.takeNumber('huge', faultyPlace) ?? 0)
  const plain = Buffer.concat([Buffer.from(answer.body), Buffer.alloc(padding * MEGABYTE, ' ')])
  const isCompressed = plain.length >= COMPRESS_MIN_BYTES && accepts(acceptEncoding, settings.compress)
  const body = await compressors[isCompressed ? settings.compress : 'none'](plain)
  const hasDate = faults.take('no-date', place ?? 'token') === undefined
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    ...answer.headers,
    ...(hasDate ? { Date: new Date(nowSeconds() * 1_000).toUTCString() } : {}),
    ...(isCompressed ? { 'Content-Encoding': settings.compress, Vary: 'Accept-Encoding' } : {}),
  }
  response.sendDate = false
  response.statusCode = answer.status
  response.setHeaders(new Map(Object.entries(headers)))
  const sendBody = faultyPlace && faults.answer(faultyPlace, faultySenders(settings.clock))
  if (sendBody === undefined) sized(response, body).end(body)
  else sendBody(response, body)
}

const accepts = (acceptEncoding: string, coding: Compression): boolean =>
  coding !== 'none' && acceptEncoding.split(',').some((each) => each.split(';')[0]?.trim().toLowerCase() === coding)

type SendBody = (response: ServerResponse, body: Buffer) => void

const faultySenders = (clock: Clock) => ({
  truncate: (): SendBody => (response, body) => sized(response, halfOf(body)).end(halfOf(body)),
  reset: (): SendBody => (response, body) =>
    sized(response, body).write(halfOf(body), () => response.socket?.resetAndDestroy()),
  silent: (): SendBody => (response, body) => sized(response, body).flushHeaders(),
  drip: (everyMs: string): SendBody => {
    /** Sends one byte at a time, and never ends the response. */
    const drip = (response: ServerResponse, body: Buffer, at = 0): void => {
      if (response.destroyed || response.socket === null) return
      response.write(at < body.length ? body.subarray(at, at + 1) : ' ')
      clock.after(Number(everyMs), () => drip(response, body, at + 1))
    }
    return drip
  },
})

const sized = (response: ServerResponse, body: Buffer) => response.setHeader('Content-Length', body.length)

const halfOf = (body: Buffer): Buffer => body.subarray(0, Math.floor(body.length / 2))
