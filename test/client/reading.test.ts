/** One answer, well served or badly: what a read gives back, and what it makes of statuses and bodies. */
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { SyncError } from '../../src/errors.ts'
import { formatInstant } from '../../src/instant.ts'
import { aClient, aRequest, aService, failureOf, inTurn, json, type Reply, status } from './support.ts'

const rows = [{ eventId: 1, name: 'Übung' }]

const packed =
  (bytes: Buffer, encoding: string): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding })
    response.end(bytes)
  }

describe('a read', () => {
  it('posts the body with a Bearer token under /reportingapi and gives value, size and service time', async () => {
    await using service = await aService({ report: json(rows, 200, { date: 'Thu, 01 Jan 2026 12:00:00 GMT' }) })
    await using client = aClient(service)
    const answer = await client.read(aRequest())
    expect(answer.value).toEqual(rows)
    expect(answer.bytes).toBe(Buffer.byteLength(JSON.stringify(rows)))
    expect(formatInstant(answer.servedAt)).toBe('2026-01-01T12:00:00.000000Z')
    expect(service.reports).toMatchObject([
      {
        path: '/reportingapi/v1/EventReport/GetEventsReport',
        body: { modifiedSince: '2026-01-01T00:00:00Z', pageSize: 500 },
        headers: {
          authorization: 'Bearer marked-token-1',
          'accept-encoding': 'gzip, br',
          'content-type': 'application/json',
        },
      },
    ])
    expect(client.counters).toEqual({ requests: 1, tokenRequests: 1, retries: 0, throttled: 0 })
  })

  it('keeps a path in the base URL as a prefix of both interfaces', async () => {
    await using service = await aService()
    await using client = aClient({ url: new URL('/tenant/7/', service.url) })
    await client.read(aRequest())
    expect(service.reports[0]?.path).toBe('/tenant/7/reportingapi/v1/EventReport/GetEventsReport')
    expect(service.tokens[0]?.path).toBe('/tenant/7/authenticationapi/Account/RequestToken')
  })

  it('keeps its connections alive for reads that follow each other', async () => {
    await using service = await aService()
    await using client = aClient(service)
    for (let read = 0; read < 5; read += 1) await client.read(aRequest())
    // The first report may be sent before the token's connection is free again.
    expect(service.seen.connections).toBeLessThanOrEqual(2)
  })

  it.each([
    ['gzip', gzipSync(JSON.stringify(rows))],
    ['br', brotliCompressSync(JSON.stringify(rows))],
    ['br, gzip', gzipSync(brotliCompressSync(JSON.stringify(rows)))],
    ['identity', Buffer.from(JSON.stringify(rows))],
  ])('unpacks a body that is sent as %s', async (encoding, bytes) => {
    await using service = await aService({ report: packed(bytes, encoding) })
    await using client = aClient(service)
    expect((await client.read(aRequest())).value).toEqual(rows)
  })

  it.each([
    ['broken gzip data', packed(Buffer.from('no gzip'), 'gzip')],
    ['an encoding nobody asked for', packed(Buffer.from('[]'), 'compress')],
    ['too many encodings', packed(Buffer.from('[]'), 'gzip, gzip, gzip, gzip')],
    ['an empty body', status(200, '', { 'content-type': 'application/json' })],
    ['a body of blanks', status(200, ' \r\n ')],
    ['truncated JSON', status(200, '[{"eventId":1},{"ev')],
  ])('tries again after %s, then says ANSWER_MALFORMED', async (_, broken) => {
    await using service = await aService({ report: broken })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({ code: 'ANSWER_MALFORMED', data: { attempts: 3 } })
    expect(service.reports).toHaveLength(3)
  })

  it('gives the value of a later attempt when the first body was cut off', async () => {
    await using service = await aService({ report: inTurn(status(200, '[{"eve'), json(rows)) })
    await using client = aClient(service)
    expect((await client.read(aRequest())).value).toEqual(rows)
    expect(client.events).toContainEqual({
      kind: 'retry',
      report: 'events',
      code: 'ANSWER_MALFORMED',
      attempt: 1,
      delayMs: 250,
    })
  })

  it('takes a byte order mark off, which JSON parsers refuse', async () => {
    await using service = await aService({ report: status(200, '\uFEFF[]') })
    await using client = aClient(service)
    expect((await client.read(aRequest())).value).toEqual([])
  })

  it('hands on what parse throws when it is not transient', async () => {
    await using service = await aService()
    await using client = aClient(service)
    const refusal = new SyncError('WALK_TOO_LONG', 'enough', { cure: 'Stop.' })
    const parse = () => {
      throw refusal
    }
    await expect(client.read(aRequest({ parse }))).rejects.toBe(refusal)
    expect(service.reports).toHaveLength(1)
  })
})

describe('the size limit', () => {
  const limits = { answerBytesMax: 10_000 }
  const long = JSON.stringify('x'.repeat(20_000))

  it.each<[string, Reply]>([
    ['by its content-length', status(200, long)],
    [
      'by what arrives',
      (response) => {
        response.write(long.slice(0, 9_000))
        response.end(long.slice(9_000))
      },
    ],
    ['once it is unpacked (gzip)', packed(gzipSync(long), 'gzip')],
    ['once it is unpacked (br)', packed(brotliCompressSync(long), 'br')],
  ])('ends an answer that is too large %s, at once and with a cure', async (_, report) => {
    await using service = await aService({ report })
    await using client = aClient(service, { settings: { limits } })
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({ code: 'ANSWER_TOO_LARGE', report: 'events' })
    expect(error.cure).toMatch(/page_size.*limits\.page_bytes_max/)
    expect(service.reports).toHaveLength(1)
  })

  it('ends an answer to a token request that is too large with a cure for that', async () => {
    await using service = await aService({ token: status(200, 'x'.repeat(1_000_000)) })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({
      code: 'ANSWER_TOO_LARGE',
      cure: expect.stringContaining('service.base_url') as string,
    })
    expect(error.cure).not.toContain('page_size')
  })

  it('lets an answer of exactly the limit pass', async () => {
    const exact = JSON.stringify('x'.repeat(9_998))
    await using service = await aService({ report: packed(gzipSync(exact), 'gzip') })
    await using client = aClient(service, { settings: { limits } })
    expect((await client.read(aRequest())).bytes).toBe(10_000)
  })

  it('shows the status of a refusal whose body is too long to read', async () => {
    await using service = await aService({ report: status(400, 'x'.repeat(1_000_000)) })
    await using client = aClient(service)
    expect(await failureOf(client.read(aRequest()))).toMatchObject({ code: 'REQUEST_INVALID' })
  })
})

describe('statuses', () => {
  it.each([408, 425, 500, 502, 503, 504, 520])('tries again after %i, then says SERVICE_UNAVAILABLE', async (code) => {
    await using service = await aService({ report: status(code) })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', report: 'events', data: { status: code, attempts: 3 } })
    expect(service.reports).toHaveLength(3)
    expect(client.counters.retries).toBe(2)
  })

  it.each([204, 206, 304, 404, 405, 409, 415, 501])('takes %i as unexpected and asks no second time', async (code) => {
    await using service = await aService({ report: status(code) })
    await using client = aClient(service)
    expect(await failureOf(client.read(aRequest()))).toMatchObject({
      code: 'STATUS_UNEXPECTED',
      data: { status: code },
    })
    expect(service.reports).toHaveLength(1)
  })

  it.each([301, 302, 303, 307, 308])('never follows a %i, and names the other host without its path', async (code) => {
    await using elsewhere = await aService()
    const location = `${elsewhere.url.href}login?session=4711`
    await using service = await aService({ report: status(code, '', { location }) })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({ code: 'REDIRECTED', data: { host: elsewhere.url.host } })
    expect(error.message).toContain(elsewhere.url.host)
    expect(JSON.stringify(error)).not.toContain('4711')
    expect(elsewhere.seen.connections).toBe(0)
    expect(service.reports).toHaveLength(1)
  })

  it.each([
    ['by its content type', status(200, 'Sign in', { 'content-type': 'text/html; charset=utf-8' })],
    [
      'by its first character',
      status(200, '\n  <!doctype html><title>Sign in</title>\u001b[31m', { 'content-type': 'application/json' }),
    ],
  ])('knows a web page %s and shows how it starts, without control characters', async (_, report) => {
    await using service = await aService({ report })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({ code: 'ANSWER_NOT_JSON', data: { start: expect.stringContaining('Sign in') } })
    expect(String(error.data['start']).length).toBeLessThanOrEqual(80)
    expect(JSON.stringify(error.data)).not.toContain('u001b')
    expect(service.reports).toHaveLength(3)
  })

  it.each([
    ['a status of success that is not known', status(203, '[{"bookerEmail":"ann@private.example"}]')],
    [
      'JSON that is called a web page',
      status(200, '[{"bookerEmail":"ann@private.example"}]', { 'content-type': 'text/html' }),
    ],
  ])('shows nothing of rows, which may be private: %s', async (_, report) => {
    await using service = await aService({ report })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest()))
    expect(['STATUS_UNEXPECTED', 'ANSWER_NOT_JSON']).toContain(error.code)
    expect(JSON.stringify(error)).not.toContain('private.example')
  })

  it('shows the property errors of a 400, whatever their layout, and asks no second time', async () => {
    await using service = await aService({ report: json({ errors: { targetCurrencyCode: ['is required'] } }, 400) })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest()))
    expect(error.code).toBe('REQUEST_INVALID')
    expect(error.message).toContain('targetCurrencyCode: is required')
    expect(error.data['problems']).toEqual([{ property: 'targetCurrencyCode', message: 'is required' }])
    expect(service.reports).toHaveLength(1)
  })
})
