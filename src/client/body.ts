/** Reads and decompresses a response's body. Both steps have a size limit: a small body may expand to gigabytes. */
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { SyncError } from '../errors.ts'

export interface BodySource {
  report: string | undefined
  encoding: string | undefined
  bytesMax: number
}

const UNPACKERS = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['br', promisify(brotliDecompress)],
])

/** Only an attacker or a loop of proxies compresses a body more than three times. */
const ENCODINGS_MAX = 3

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

export async function readBytes({ body, headers }: Dispatcher.ResponseData, source: BodySource): Promise<Buffer> {
  // Without this listener, Node would end the process if an abort destroys the stream.
  body.on('error', () => undefined)
  if (Number(headers['content-length']) > source.bytesMax) {
    body.destroy()
    throw tooLarge(source)
  }
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > source.bytesMax) throw tooLarge(source)
    pieces.push(piece)
  }
  return Buffer.concat(pieces, bytes)
}

export async function bodyOf(sent: Buffer, source: BodySource): Promise<Buffer> {
  let bytes = sent
  // The header names the encodings in the order in which they were applied (RFC 9110 §8.4).
  for (const encoding of encodingsOf(source).toReversed()) bytes = await decompressed(bytes, encoding, source)
  return bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes
}

function encodingsOf({ encoding, report }: BodySource): string[] {
  const names = (encoding ?? '').split(',').map((name) => name.trim().toLowerCase())
  const applied = names.filter((name) => name !== '' && name !== 'identity')
  if (applied.length > ENCODINGS_MAX) throw unreadable('too many content encodings', report)
  return applied
}

async function decompressed(bytes: Buffer, encoding: string, source: BodySource): Promise<Buffer> {
  const unpack = UNPACKERS.get(encoding)
  if (unpack === undefined) throw unreadable('a content encoding that was not requested', source.report)
  try {
    return await unpack(bytes, { maxOutputLength: source.bytesMax })
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    throw isTooLarge ? tooLarge(source) : unreadable(`broken ${encoding} data`, source.report)
  }
}

function tooLarge({ report, bytesMax }: BodySource): SyncError {
  return new SyncError('ANSWER_TOO_LARGE', `the answer is larger than ${bytesMax} bytes`, {
    cure:
      report === undefined
        ? 'Check that service.base_url is the reporting service and not a page in front of it.'
        : 'Lower page_size, or turn expand flags off for this report; only if one row alone is that large, raise limits.page_bytes_max.',
    data: { answerBytesMax: bytesMax },
    report,
  })
}

function unreadable(what: string, report: string | undefined): SyncError {
  return new SyncError('ANSWER_MALFORMED', `the answer cannot be read: ${what}`, {
    cure: 'Try again; if it happens again, ask the owner of the service or of the proxy in front of it.',
    report,
  })
}
