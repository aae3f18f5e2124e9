/**
 * The console by itself, over a real queue store: readiness, the place for metrics, and what time does to sessions and
 * guesses.
 */
import { connect } from 'node:net'
import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import { systemClock } from '../../src/clock.ts'
import { checkTokens, isOurName } from '../../src/console/access/address.ts'
import { openSessions, SESSION_MS_MAX } from '../../src/console/access/sessions.ts'
import { guessCounter, isToken, newToken } from '../../src/console/access/gate.ts'
import { type Console, type ConsoleOptions, openConsole } from '../../src/console/console.ts'
import type { AllSettings, ConsoleBackend } from '../../src/console/backend.ts'
import type { Changes } from '../../src/operations/readChanges.ts'
import { openReader } from '../../src/reader/reader.ts'
import { createLog } from '../../src/log.ts'
import { Secret } from '../../src/secret.ts'
import { knockAt, login, TOKEN, VIEW_TOKEN } from './support.ts'

let store: QueueStore
let console: Console
let isReady: () => Promise<boolean> = () => Promise.resolve(true)

beforeAll(async () => {
  store = await openStore(inject('redisUrl'), { directory: '', clock: systemClock, prefix: 'console_mounted' })
  console = await openConsole(settings())
})

const settings = (): ConsoleOptions => ({
  host: '127.0.0.1',
  port: 0,
  token: new Secret(TOKEN),
  viewToken: new Secret(VIEW_TOKEN),
  proxies: ['127.0.0.1'],
  version: '0',
  clock: systemClock,
  log: createLog({ level: 'silent' }),
  queues: new JobQueues(store),
  settings: {} as AllSettings,
  runLogs: '/nowhere',
  editedKeys: () => Promise.resolve([]),
  receiversBehind: () => Promise.resolve([]),
  openChanges: () => Promise.reject(new Error('not asked for here')),
  waitFor: () => Promise.resolve([]),
  newReader: () =>
    openReader({ published: '/nowhere', limits: { queryMemory: '64MB', queryDisk: '64MB', queryTimeMs: 1_000 } }),
  backendOf: () => broken,
  isReady: () => isReady(),
  metricsText: () => Promise.resolve({ contentType: 'text/plain; version=0.0.4', body: 'tidemark_lag_seconds 1\n' }),
})
afterAll(async () => {
  await console[Symbol.asyncDispose]()
  await store.close()
})

it('ends a change feed that its client does not read, and closes the copy', async () => {
  const closed = Promise.withResolvers<void>()
  const changes = Array.from({ length: 1_000 }, () => `{"row":"${'x'.repeat(1_000)}"}`)
  const feed = {
    cursor: 'start',
    read: async (take: (changes: readonly string[]) => Promise<void>) => {
      for (;;) await take(changes)
    },
    [Symbol.asyncDispose]: async () => closed.resolve(),
  }
  await using stalled = await openConsole({
    ...settings(),
    clock: { ...systemClock, after: (ms, action) => systemClock.after(Math.min(ms, 200), action) },
    openChanges: () => Promise.resolve(feed as unknown as Changes),
  })
  const { port } = new URL(stalled.address)
  const socket = connect(Number(port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined).pause()
  socket.write(
    `GET /api/changes?report=events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`,
  )
  await closed.promise
})

const fails = () => {
  throw new TypeError('marked-inside: /home/somebody')
}
/** Of a warehouse that gave up in an unforeseen way. */
const broken: ConsoleBackend = {
  isOwner: true,
  answer: fails,
  books: { rows: fails },
  standings: fails,
  running: () => [],
  begun: () => 0,
}

const machine = { headers: { authorization: `Bearer ${TOKEN}` } }

describe('a token that may only look', () => {
  const viewer = { headers: { authorization: `Bearer ${VIEW_TOKEN}` } }
  const acting = { method: 'POST', body: JSON.stringify({ reports: ['events'] }) }
  const json = { 'content-type': 'application/json' }

  it('reads metrics, and the page learns that it may not act', async () => {
    expect((await knockAt(console.address, '/metrics', viewer)).status).toBe(200)
    const opened = await knockAt(console.address, '/api/session', login(VIEW_TOKEN))
    expect(JSON.parse(opened.body)).toEqual({ logged_in: true, may_act: false })
    const cookie = String(opened.headers['set-cookie']).split(';')[0] ?? ''
    const asked = await knockAt(console.address, '/api/session', { headers: { cookie } })
    expect(JSON.parse(asked.body)).toEqual({ logged_in: true, may_act: false })
  })

  it('reads as a program that it may not act', async () => {
    const asked = await knockAt(console.address, '/api/session', viewer)
    expect(JSON.parse(asked.body)).toEqual({ logged_in: true, may_act: false })
    expect(JSON.parse((await knockAt(console.address, '/api/session', machine)).body)).toMatchObject({ may_act: true })
  })

  it.each(['/api/sync', '/api/pause', '/api/reconcile', '/api/backfills', '/api/cancel', '/api/rejected/dismiss'])(
    'is refused at %s, with the header and with a session',
    async (path) => {
      const sent = { ...acting, headers: { ...viewer.headers, ...json } }
      const refused = await knockAt(console.address, path, sent)
      expect(refused.status).toBe(403)
      expect(JSON.parse(refused.body)).toMatchObject({
        error: { code: 'CONSOLE_REFUSED', message: expect.stringContaining('may only look') as string },
      })
      const opened = await knockAt(console.address, '/api/session', login(VIEW_TOKEN))
      const cookie = String(opened.headers['set-cookie']).split(';')[0] ?? ''
      const own = { cookie, 'x-tidemark-console': '1', ...json }
      expect((await knockAt(console.address, path, { ...acting, headers: own })).status).toBe(403)
    },
  )

  it('can close its own session', async () => {
    const opened = await knockAt(console.address, '/api/session', login(VIEW_TOKEN))
    const cookie = String(opened.headers['set-cookie']).split(';')[0] ?? ''
    const own = { method: 'DELETE', headers: { cookie, 'x-tidemark-console': '1' } }
    expect((await knockAt(console.address, '/api/session', own)).status).toBe(200)
    expect((await knockAt(console.address, '/api/session', { headers: { cookie } })).status).toBe(401)
  })
})

const from = (address: string, token: string) => ({
  headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': address },
})

it('the explorer says what to do as long as nothing was published', async () => {
  const json = { ...machine.headers, 'content-type': 'application/json' }
  const query = await knockAt(console.address, '/api/query', {
    method: 'POST',
    headers: json,
    body: '{"sql":"SELECT 1"}',
  })
  for (const { status, body } of [await knockAt(console.address, '/api/tables', machine), query]) {
    expect(status).toBe(503)
    expect(JSON.parse(body)).toMatchObject({
      error: { code: 'WAREHOUSE_MISSING', cure: expect.stringContaining('sync') as string },
    })
  }
})

describe('wrong tokens', () => {
  it('of one client behind the proxy slow that client, and neither another client nor the holder of a right one', async () => {
    for (let n = 0; n < 10; n += 1)
      expect((await knockAt(console.address, '/metrics', from('10.9.9.1', `guess ${n}`))).status).toBe(401)
    expect((await knockAt(console.address, '/metrics', from('10.9.9.1', 'guess'))).status).toBe(429)
    expect((await knockAt(console.address, '/metrics', from('10.9.9.2', 'guess'))).status).toBe(401)
    expect((await knockAt(console.address, '/metrics', from('10.9.9.1', TOKEN))).status).toBe(200)
  })
})

describe('the console', () => {
  it('gives metrics to who has the token, and to nobody else', async () => {
    expect((await knockAt(console.address, '/metrics')).status).toBe(401)
    const seen = await knockAt(console.address, '/metrics', machine)
    expect(seen).toMatchObject({ status: 200, body: 'tidemark_lag_seconds 1\n' })
    expect(seen.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
  })

  it.each([
    ['says no', () => Promise.resolve(false)],
    ['fails', () => Promise.reject(new TypeError('marked-inside'))],
    ['never answers', () => new Promise<boolean>(() => undefined)],
  ])('is not ready when what it asks %s, and is alive all the same', { tags: 'long' }, async (_, answer) => {
    isReady = answer
    expect(await knockAt(console.address, '/readyz')).toMatchObject({ status: 503, body: '{"status":"not ready"}' })
    expect((await knockAt(console.address, '/healthz')).status).toBe(200)
    isReady = () => Promise.resolve(true)
    expect((await knockAt(console.address, '/readyz')).status).toBe(200)
  })

  it('tells nothing of its inside when it fails', async () => {
    const { status, body } = await knockAt(console.address, '/api/overview', machine)
    expect(status).toBe(500)
    expect(body).not.toMatch(/marked-inside|somebody|\.ts/)
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'UNEXPECTED', cure: expect.any(String) as string } })
  })

  it('marks its cookie for TLS when a proxy says that there is some', async () => {
    const { headers, ...rest } = login(TOKEN)
    const behind = { ...rest, headers: { ...headers, 'x-forwarded-proto': 'https' } }
    expect(String((await knockAt(console.address, '/api/session', behind)).headers['set-cookie'])).toContain('Secure')
  })

  it.each([
    ['lets in', 'https://tide.example', 'tide.example', 200],
    ['lets in', 'https://tide.example', 'tide.example, inner.example', 200],
    ['refuses', 'https://evil.example', 'tide.example', 403],
    ['refuses', 'https://tide.example', '', 403],
    ['refuses', 'null', '', 403],
    ['refuses', 'file://', '', 403],
  ])(
    '%s a page of %s behind a proxy that asks on loopback and was asked for "%s"',
    async (_, origin, asked, status) => {
      const { headers, ...rest } = login(TOKEN)
      const named = { ...headers, origin, 'x-forwarded-host': asked }
      expect((await knockAt(console.address, '/api/session', { ...rest, headers: named })).status).toBe(status)
    },
  )

  it('goes by no name that only a proxy says', async () => {
    const headers = { ...machine.headers, host: 'evil.example', 'x-forwarded-host': '127.0.0.1' }
    expect((await knockAt(console.address, '/metrics', { headers })).status).toBe(403)
  })
})

/** A clock that stands until somebody moves it. */
const aHand = () => {
  const hand = { nowMs: 0, monotonicMs: () => hand.nowMs }
  return hand
}

describe('time', () => {
  it('ends a session after half a day', () => {
    const hand = aHand()
    const sessions = openSessions(hand)
    const id = sessions.begin('act')
    hand.nowMs = SESSION_MS_MAX - 1
    expect(sessions.accessOf(id)).toBe('act')
    hand.nowMs = SESSION_MS_MAX
    expect(sessions.accessOf(id)).toBeUndefined()
  })

  it('lets somebody guess again after a minute, each address for itself, all together within a limit', async () => {
    await using app = fastify()
    await app.register(rateLimit, { allowList: () => true })
    const countGuess = guessCounter(app)
    app.get('/', (request) => countGuess(request))
    const waitSeconds = async (remoteAddress: string) => Number((await app.inject({ url: '/', remoteAddress })).body)
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    for (let n = 0; n < 10; n += 1) expect(await waitSeconds('10.0.0.1')).toBe(0)
    expect([await waitSeconds('10.0.0.1'), await waitSeconds('10.0.0.2')]).toEqual([60, 0])
    for (let n = 0; n < 89; n += 1) expect(await waitSeconds(`10.0.1.${n}`)).toBe(0)
    expect(await waitSeconds('10.0.0.2')).toBe(60)
    vi.advanceTimersByTime(60_000)
    expect([await waitSeconds('10.0.0.1'), await waitSeconds('10.0.0.2')]).toEqual([0, 0])
  })

  it('keeps no more than a hundred sessions: the oldest ends', () => {
    const sessions = openSessions(aHand())
    const ids = Array.from({ length: 101 }, () => sessions.begin('act'))
    expect(ids.filter((id) => sessions.accessOf(id) === undefined)).toHaveLength(1)
    expect(sessions.accessOf(ids[0] ?? '')).toBeUndefined()
  })
})

describe('a token', () => {
  it('that is made is long, and no two are the same', () => {
    const tokens = Array.from({ length: 100 }, () => newToken().reveal())
    expect(new Set(tokens).size).toBe(100)
    for (const token of tokens) expect(token).toMatch(/^[\w-]{32}$/)
  })

  it('is compared whole', () => {
    const token = new Secret('0123456789abcdef')
    expect(isToken(token, '0123456789abcdef')).toBe(true)
    for (const guess of ['', '0', '0123456789abcdeg', '0123456789abcdef ', '0123456789ABCDEF'])
      expect(isToken(token, guess)).toBe(false)
  })

  it('for looking is refused where it equals the one for acting: its holder could act', () => {
    const token = new Secret('0123456789abcdef')
    const [same, other] = [new Secret('0123456789abcdef'), new Secret('fedcba9876543210')]
    for (const host of ['127.0.0.1', '0.0.0.0'])
      expect(() => checkTokens(host, { token, viewToken: same }), host).toThrow(/equal/)
    expect(() => checkTokens('127.0.0.1', { token, viewToken: other })).not.toThrow()
  })

  it('of 16 characters lets others reach the console, on loopback any does', () => {
    expect(() => checkTokens('0.0.0.0', { token: new Secret('0123456789abcdef') })).not.toThrow()
    expect(() => checkTokens('::', { token: new Secret('0123456789abcde') })).toThrow(/16 characters/)
    for (const host of ['127.0.0.1', '127.8.9.1', '::1', 'localhost']) expect(() => checkTokens(host, {})).not.toThrow()
    for (const host of ['127.0.0.1.evil.example', '10.0.0.1', 'localhost.evil', '0.0.0.0', '::'])
      expect(() => checkTokens(host, {}), host).toThrow(/others can reach/)
  })

  it('is not all: off loopback any name may be right, but there must be one', () => {
    expect([isOurName('tidemark.example', '0.0.0.0'), isOurName(undefined, '0.0.0.0')]).toEqual([true, false])
    expect([isOurName(undefined, '127.0.0.1'), isOurName('evil.example', '127.0.0.1')]).toEqual([false, false])
  })
})
