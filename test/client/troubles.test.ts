/** Connections that fail, fall silent, drip for ever or are called off by the caller. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import {
  aClient,
  aRequest,
  aService,
  failureOf,
  inTurn,
  issueToken,
  json,
  QuickClock,
  type Reply,
  status,
} from './support.ts'

const hang: Reply = () => undefined

const fallSilent: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('[')
}

const dripForEver: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const drip = setInterval(() => response.write(' '), 10)
  response.on('close', () => clearInterval(drip))
}

const cutInMidBody: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('[{"eventId":1}', () => response.destroy())
}

const afterInterim =
  (heads: readonly string[], reply: Reply): Reply =>
  async (response, call, number) => {
    for (const head of heads) {
      response.socket?.write(`HTTP/1.1 ${head}\r\n\r\n`)
      await sleep(20)
    }
    await reply(response, call, number)
  }

describe('connections', () => {
  it.each([
    ['100 Continue'],
    ['100 Continue\r\nX-From: a proxy'],
    ['102 Processing', '100 Continue', '103 Early Hints\r\nLink: </x>', '100 Continue'],
  ])('read past interim answers that nobody asked for: %j', async (...heads) => {
    await using service = await aService({
      report: afterInterim(heads, json([1])),
      token: afterInterim(heads, issueToken),
    })
    await using client = aClient(service)
    await client.read(aRequest())
    expect([service.tokens.length, service.reports.length]).toEqual([1, 1])
  })

  it('says SERVICE_UNREACHABLE with the reason after all attempts when nobody listens', async () => {
    const service = await aService()
    await service[Symbol.asyncDispose]()
    await using client = aClient(service)
    const error = await failureOf(client.token())
    expect(error).toMatchObject({ code: 'SERVICE_UNREACHABLE', data: { reason: 'ECONNREFUSED', attempts: 3 } })
    expect(client.counters.tokenRequests).toBe(3)
  })

  it('does not multiply the attempts of the token request with those of the report', async () => {
    await using service = await aService({ token: status(503) })
    await using client = aClient(service)
    expect(await failureOf(client.read(aRequest()))).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(service.tokens).toHaveLength(3)
    expect(service.reports).toHaveLength(0)
  })

  it('says that the host name is the thing to check when it has no address', async () => {
    await using client = aClient({ url: new URL('http://nowhere.invalid') })
    const error = await failureOf(client.token())
    expect(error.code).toBe('SERVICE_UNREACHABLE')
    expect(error.cure).toContain('base_url')
  })

  it('ends a connection that does not come about within its limit', { tags: 'long' }, async () => {
    // Takes the connection and never answers the TLS handshake.
    await using silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const sockets: Socket[] = []
    silent.on('connection', (socket) => sockets.push(socket))
    const url = new URL(`https://127.0.0.1:${(silent.address() as AddressInfo).port}`)
    await using client = aClient({ url }, { settings: { limits: { connectMs: 80 } } })
    const error = await failureOf(client.token())
    expect(error).toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      data: { reason: 'UND_ERR_CONNECT_TIMEOUT', attempts: 3 },
    })
    for (const socket of sockets) socket.destroy()
  })

  it('names the certificate as the thing to check when TLS fails', async () => {
    await using service = await aService()
    await using client = aClient({ url: new URL(`https://${service.url.host}`) })
    const error = await failureOf(client.token())
    expect(error.code).toBe('SERVICE_UNREACHABLE')
    expect(error.cure).toContain('certificate')
  })

  it.each<[string, Reply]>([
    ['before the answer', (response) => void response.destroy()],
    ['in the middle of a body with a length', cutInMidBody],
    [
      'in the middle of a body without a length',
      (response) => void response.write('[{"eventId"', () => response.destroy()),
    ],
    ['by something that is no HTTP', (response) => void response.socket?.end('220 smtp ready\r\n')],
  ])('sends again when the connection is cut %s', async (_, broken) => {
    await using service = await aService({ report: inTurn(broken, broken, json([1])) })
    await using client = aClient(service)
    expect((await client.read(aRequest())).value).toEqual([1])
    expect(client.events.filter(({ kind }) => kind === 'retry')).toMatchObject([
      { code: 'SERVICE_UNREACHABLE' },
      { code: 'SERVICE_UNREACHABLE' },
    ])
  })

  it('sends again on a new connection when the server closed the idle one meanwhile', async () => {
    await using service = await aService({
      report: (response, call, number) => {
        json([number])(response, call, number)
        response.on('finish', () => response.socket?.destroy())
      },
    })
    await using client = aClient(service)
    for (const number of [1, 2, 3]) expect((await client.read(aRequest())).value).toEqual([number])
  })
})

describe('time limits', () => {
  it.each<[string, Reply, Record<string, number>]>([
    ['a service that never answers', hang, { headersMs: 80 }],
    ['a body that falls silent', fallSilent, { bodyMs: 80 }],
    ['a body that drips for ever', dripForEver, { answerMs: 150 }],
    ['a service that never answers, by the deadline alone', hang, { answerMs: 150 }],
    ['a body that falls silent, by the deadline alone', fallSilent, { answerMs: 150 }],
  ])('ends %s with SERVICE_TIMEOUT, after all attempts', { tags: 'long' }, async (_, report, limits) => {
    await using service = await aService({ report })
    const settings = { limits: { ...limits, attemptsMax: 2, retryDelayMsMin: 1 } }
    await using client = aClient(service, { settings, clock: systemClock })
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({ code: 'SERVICE_TIMEOUT', report: 'events', data: { attempts: 2 } })
    expect(service.reports).toHaveLength(2)
  })

  it('answers after a timeout when the next attempt goes well', async () => {
    await using service = await aService({ report: inTurn(dripForEver, json([1])) })
    const settings = { limits: { answerMs: 150, retryDelayMsMin: 1 } }
    await using client = aClient(service, { settings, clock: systemClock })
    expect((await client.read(aRequest())).value).toEqual([1])
  })
})

describe('cancellation', () => {
  const slowRetry = { limits: { retryDelayMsMin: 60_000, retryDelayMsMax: 60_000 } }

  it.each<[string, { report?: Reply; token?: Reply }]>([
    ['while the report is thinking', { report: hang }],
    ['in the middle of a body', { report: dripForEver }],
    ['in the middle of a silent body', { report: fallSilent }],
    ['while a token is on its way', { token: hang }],
    ['in backoff', { report: status(503) }],
    ['in a pause after a 429', { report: status(429, '', { 'retry-after': '60' }) }],
    ['in the backoff of the token request', { token: status(503) }],
  ])('ends a read at once %s', async (_, replies) => {
    await using service = await aService(replies)
    await using client = aClient(service, { clock: systemClock, settings: slowRetry })
    const controller = new AbortController()
    const read = failureOf(client.read(aRequest(), controller.signal))
    await sleep(100)
    const startedMs = performance.now()
    controller.abort()
    expect((await read).code).toBe('CANCELLED')
    expect(performance.now() - startedMs).toBeLessThan(500)
  })

  it('sends nothing when the signal was aborted before', async () => {
    await using service = await aService()
    await using client = aClient(service)
    expect((await failureOf(client.read(aRequest(), AbortSignal.abort()))).code).toBe('CANCELLED')
    expect(service.tokens).toHaveLength(0)
  })

  it('rejects with the reason where the caller gave an error', async () => {
    await using service = await aService({ report: hang })
    await using client = aClient(service)
    const controller = new AbortController()
    const reason = new SyncError('WAREHOUSE_LOCKED', 'the lease was lost', { cure: 'Wait.' })
    const read = client.read(aRequest(), controller.signal)
    setTimeout(() => controller.abort(reason), 30)
    await expect(read).rejects.toBe(reason)
  })

  it('leaves the other reads and their shared token request alone', async () => {
    await using service = await aService({
      token: async (response, call, number) => {
        await sleep(80)
        issueToken(response, call, number)
      },
    })
    await using client = aClient(service)
    const controller = new AbortController()
    const cancelled = failureOf(client.read(aRequest(), controller.signal))
    const kept = client.read(aRequest())
    setTimeout(() => controller.abort(), 20)
    expect((await cancelled).code).toBe('CANCELLED')
    expect((await kept).value).toEqual([])
    expect(service.tokens).toHaveLength(1)
  })

  it('asks for a new token when the one on its way was called off by the last who waited', async () => {
    await using service = await aService({
      token: inTurn(hang, json({ accessToken: 'second', expiresIn: 3600, tokenType: 'Bearer' })),
    })
    await using client = aClient(service)
    const controller = new AbortController()
    const cancelled = failureOf(client.read(aRequest(), controller.signal))
    await sleep(50)
    controller.abort()
    await cancelled
    expect((await client.read(aRequest())).value).toEqual([])
    expect(service.tokens).toHaveLength(2)
  })

  it('holds on to nothing of a long-lived signal after a read', async () => {
    await using service = await aService()
    await using client = aClient(service)
    const { signal } = new AbortController()
    let listening = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listening += 1
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listening -= 1
      remove(...args)
    }
    await client.read(aRequest(), signal)
    expect(listening).toBe(0)
  })
})

describe('closing', () => {
  it('cancels what is under way and everything that comes later', async () => {
    await using service = await aService({ report: hang })
    const client = aClient(service, { settings: { concurrency: 1 } })
    const reads = [failureOf(client.read(aRequest())), failureOf(client.read(aRequest()))]
    await sleep(50)
    await client.close()
    for (const read of reads) expect((await read).code).toBe('CANCELLED')
    expect((await failureOf(client.read(aRequest()))).code).toBe('CANCELLED')
    expect((await failureOf(client.token())).code).toBe('CANCELLED')
    await client.close()
  })

  it('waits between attempts by the clock it was given', async () => {
    const clock = new QuickClock()
    await using service = await aService({ report: status(503) })
    await using client = aClient(service, { clock, settings: { limits: { attemptsMax: 6 } } })
    await failureOf(client.read(aRequest()))
    expect(clock.sleeps).toEqual([250, 500, 1_000, 2_000, 4_000])
  })
})
