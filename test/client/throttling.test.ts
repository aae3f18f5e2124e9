/** Permits, rates, pauses after a 429, and the arithmetic of delays. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseHttpDate, parseRetryAfter } from '../../src/client/transport.ts'
import { Limiter, type Permit } from '../../src/client/limiter.ts'
import { DEFAULT_LIMITS } from '../../src/client/limits.ts'
import { delayMsAfter } from '../../src/client/retry.ts'
import { SyncError } from '../../src/errors.ts'
import { formatInstant, fromMillis } from '../../src/instant.ts'
import { aClient, aRequest, aService, failureOf, inTurn, json, QuickClock, type Reply, status } from './support.ts'

const { signal } = new AbortController()
const inAnHour = (code: number) => status(code, '', { 'retry-after': '3600' })
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the limiter', () => {
  it('lets so many through at once, the others in the order they came', async () => {
    const limiter = new Limiter({ concurrency: 2 }, new QuickClock())
    const order: number[] = []
    const permits: Permit[] = []
    const waits = [1, 2, 3, 4, 5].map(async (number) => {
      permits.push(await limiter.acquire(signal))
      order.push(number)
    })
    for (let released = 0; released < 5; released += 1) {
      await settled()
      expect(order).toHaveLength(Math.min(5, 2 + released))
      permits.shift()?.[Symbol.dispose]()
    }
    await Promise.all(waits)
    expect(order).toEqual([1, 2, 3, 4, 5])
  })

  it('counts a permit that is given back twice only once', async () => {
    const limiter = new Limiter({ concurrency: 1 }, new QuickClock())
    const permit = await limiter.acquire(signal)
    permit[Symbol.dispose]()
    permit[Symbol.dispose]()
    await limiter.acquire(signal)
    let second = false
    void limiter.acquire(signal).then(() => (second = true))
    await settled()
    expect(second).toBe(false)
  })

  it('takes a cancelled waiter out of the queue, so that its permit goes to the next', async () => {
    const limiter = new Limiter({ concurrency: 1 }, new QuickClock())
    const permit = await limiter.acquire(signal)
    const controller = new AbortController()
    const cancelled = failureOf(limiter.acquire(controller.signal))
    const next = limiter.acquire(signal)
    controller.abort()
    expect((await cancelled).code).toBe('CANCELLED')
    permit[Symbol.dispose]()
    await next
  })

  it('spaces requests evenly when a rate is given', async () => {
    const clock = new QuickClock()
    const limiter = new Limiter({ concurrency: 10, requestsPerSecond: 4 }, clock)
    const startedMs: number[] = []
    await Promise.all(
      Array.from({ length: 5 }, async () => {
        using _permit = await limiter.acquire(signal)
        startedMs.push(clock.monotonicMs() - 1_000)
      }),
    )
    expect(startedMs).toEqual([0, 250, 500, 750, 1_000])
  })

  it('keeps at most so many requests under way, tokens included', async () => {
    await using service = await aService({
      report: (response, call, number) => setTimeout(() => void json([])(response, call, number), 10),
    })
    await using client = aClient(service, { settings: { concurrency: 3 } })
    await Promise.all(Array.from({ length: 12 }, () => client.read(aRequest())))
    expect(service.seen.atOnceMax).toBe(3)
  })
})

describe('a 429', () => {
  const throttled = status(429, '', { 'retry-after': '9' })

  it('pauses every request of the client for as long as Retry-After says', async () => {
    const clock = new QuickClock()
    const startedMs: number[] = []
    const report: Reply = (response, call, number) => {
      startedMs.push(clock.elapsedMs)
      return (number === 1 ? throttled : json([]))(response, call, number)
    }
    await using service = await aService({ report })
    await using client = aClient(service, { clock, settings: { concurrency: 1 } })
    await Promise.all([1, 2, 3].map(() => client.read(aRequest())))
    expect(startedMs.slice(1).every((ms) => ms >= 1_000 + 9_000)).toBe(true)
    expect(startedMs).toHaveLength(4)
    expect(client.events).toContainEqual({ kind: 'throttled', report: 'events', pauseMs: 9_000 })
    expect(client.counters).toMatchObject({ throttled: 1, retries: 1, requests: 4 })
  })

  it('understands an HTTP date, on the clock of the service', async () => {
    const clock = new QuickClock()
    const headers = { date: 'Mon, 01 Jun 2026 12:00:00 GMT', 'retry-after': 'Mon, 01 Jun 2026 12:00:20 GMT' }
    await using service = await aService({ report: inTurn(status(429, '', headers), json([])) })
    await using client = aClient(service, { clock })
    await client.read(aRequest())
    expect(client.events).toContainEqual({ kind: 'throttled', report: 'events', pauseMs: 20_000 })
  })

  it('backs off where the service does not say how long', async () => {
    await using service = await aService({ report: inTurn(status(429), json([])) })
    await using client = aClient(service)
    await client.read(aRequest())
    expect(client.events).toContainEqual({ kind: 'throttled', report: 'events', pauseMs: 250 })
  })

  it('becomes RATE_LIMITED after all attempts, and tells how long was asked for', async () => {
    await using service = await aService({ report: throttled })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({ code: 'RATE_LIMITED', data: { attempts: 3, retryAfterMs: 9_000 } })
    expect(error.cure).toMatch(/service\.concurrency .*service\.requests_per_second/)
  })

  it('pauses the other requests even when it was the last attempt', async () => {
    const clock = new QuickClock()
    await using service = await aService({ report: inTurn(throttled, json([])) })
    await using client = aClient(service, { clock, settings: { limits: { attemptsMax: 1 } } })
    await failureOf(client.read(aRequest()))
    await client.read(aRequest())
    expect(clock.sleeps).toEqual([9_000])
  })
})

describe('a 503 with Retry-After', () => {
  it('pauses every request of the client and of its peers for so long, but is no answer with status 429', async () => {
    const clock = new QuickClock()
    const startedMs: number[] = []
    const report: Reply = (response, call, number) => {
      startedMs.push(clock.elapsedMs)
      return (number === 1 ? status(503, '', { 'retry-after': '9' }) : json([]))(response, call, number)
    }
    const told: number[] = []
    const sharedPauses = { pause: async (ms: number) => void told.push(ms), remainingMs: async () => 0 }
    await using service = await aService({ report })
    await using client = aClient(service, { clock, sharedPauses, settings: { concurrency: 1 } })
    await Promise.all([1, 2, 3].map(() => client.read(aRequest())))
    expect(startedMs.slice(1).every((ms) => ms >= 1_000 + 9_000)).toBe(true)
    expect(told).toEqual([9_000])
    expect(client.events).toContainEqual({ kind: 'wait requested', report: 'events', pauseMs: 9_000 })
    expect(client.counters).toMatchObject({ throttled: 0, retries: 1, requests: 4 })
  })

  it('lets the others go on where it does not say how long', async () => {
    const clock = new QuickClock()
    await using service = await aService({ report: inTurn(status(503), json([])) })
    await using client = aClient(service, { clock, settings: { limits: { attemptsMax: 1 } } })
    await failureOf(client.read(aRequest()))
    await client.read(aRequest())
    expect(clock.sleeps).toEqual([])
  })
})

describe('a refusal with Retry-After', () => {
  it.each([
    [400, 'REQUEST_INVALID', 3],
    [401, 'SCOPE_MISSING', 1],
    [403, 'REPORT_FORBIDDEN', 1],
  ])(
    'of status %i is not tried again, and pauses all requests once for each response: %s',
    async (code, name, pauses) => {
      const told: number[] = []
      const sharedPauses = { pause: async (ms: number) => void told.push(ms), remainingMs: async () => 0 }
      await using service = await aService({ report: status(code, '', { 'retry-after': '9' }) })
      await using client = aClient(service, { sharedPauses })
      // After a 401 or a 403, the client sends nothing for this report, so the service has requested no further pause.
      for (const _ of [1, 2, 3]) expect((await failureOf(client.read(aRequest()))).code).toBe(name)
      expect(told).toEqual(Array.from({ length: pauses }, () => 9_000))
      expect(client.counters.retries).toBe(0)
    },
  )
})

describe('a Retry-After that is longer than a run waits', () => {
  it.each([
    [429, 'RATE_LIMITED'],
    [503, 'SERVICE_UNAVAILABLE'],
  ])('of a %i ends the run at once, says when it may go on, and is asked for of all', async (code, name) => {
    const clock = new QuickClock()
    const told: number[] = []
    const sharedPauses = { pause: async (ms: number) => void told.push(ms), remainingMs: async () => 0 }
    await using service = await aService({ report: inAnHour(code) })
    await using client = aClient(service, { clock, sharedPauses })
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({ code: name, data: { attempts: 1, retryAfterMs: 3_600_000 } })
    expect(error.message).toContain('not before 2026-01-01T01:00:00Z')
    expect(told).toEqual([3_600_000])
    expect(clock.sleeps).toEqual([])
  })

  it('lets nothing be sent until it is over: who waits in line and who comes later is told when', async () => {
    const clock = new QuickClock()
    await using service = await aService({ report: inTurn(inAnHour(429), json([])) })
    await using client = aClient(service, { clock, settings: { concurrency: 1 } })
    const inLine = [1, 2, 3].map(() => failureOf(client.read(aRequest())))
    for (const error of await Promise.all(inLine)) {
      expect(error).toMatchObject({ code: 'RATE_LIMITED', data: { retryAfterMs: 3_600_000 } })
    }
    clock.pass(3_000_000)
    const later = await failureOf(client.read(aRequest()))
    expect(later).toMatchObject({ code: 'RATE_LIMITED', data: { retryAfterMs: 600_000 } })
    expect(later.message).toContain('not before 2026-01-01T01:00:00Z')
    expect(service.reports).toHaveLength(1)
    clock.pass(400_000)
    await client.read(aRequest())
    expect(clock.sleeps).toEqual([200_000])
  })

  it('that others were asked for is kept as well', async () => {
    await using service = await aService()
    const sharedPauses = { pause: async () => undefined, remainingMs: async () => 3_600_000 }
    await using client = aClient(service, { sharedPauses })
    expect(await failureOf(client.read(aRequest()))).toMatchObject({ code: 'RATE_LIMITED' })
    expect(service.reports).toHaveLength(0)
  })

  it('is obeyed when a request for a token meets it', async () => {
    await using service = await aService({ token: inAnHour(503) })
    await using client = aClient(service)
    expect((await failureOf(client.read(aRequest()))).message).toContain('not before')
    expect((await failureOf(client.read(aRequest()))).code).toBe('RATE_LIMITED')
    expect(service.tokens).toHaveLength(1)
  })

  it('is believed up to a day', async () => {
    await using service = await aService({ report: status(503, '', { 'retry-after': '99999999999' }) })
    await using client = aClient(service)
    expect((await failureOf(client.read(aRequest()))).data).toMatchObject({ retryAfterMs: 86_400_000 })
  })
})

describe('delays', () => {
  const attempts = fc.integer({ min: 1, max: 60 })
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

  it('back off between nothing and a bound that doubles up to its limit', () => {
    fc.assert(
      fc.property(attempts, chance, (attempt, random) => {
        const error = new SyncError('SERVICE_UNAVAILABLE', 'away', { cure: 'Wait.' })
        const ms = delayMsAfter(error, attempt, { rules: DEFAULT_LIMITS, clock: { random: () => random } })
        const { retryDelayMsMin, retryDelayMsMax } = DEFAULT_LIMITS
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(ms).toBeLessThanOrEqual(Math.min(retryDelayMsMax, retryDelayMsMin * 2 ** (attempt - 1)))
      }),
    )
  })

  it('obey Retry-After between the shortest delay and the longest pause', () => {
    fc.assert(
      fc.property(attempts, fc.nat(200_000_000), (attempt, retryAfterMs) => {
        const error = new SyncError('RATE_LIMITED', 'slow down', { cure: 'Wait.', data: { retryAfterMs } })
        const ms = delayMsAfter(error, attempt, { rules: DEFAULT_LIMITS, clock: { random: () => 0 } })
        const { retryDelayMsMin, pauseMsMax } = DEFAULT_LIMITS
        expect(ms).toBe(Math.min(pauseMsMax, Math.max(retryDelayMsMin, retryAfterMs)))
      }),
    )
  })

  it('read Retry-After as seconds', () => {
    fc.assert(
      fc.property(fc.nat(), (seconds) => {
        expect(parseRetryAfter(` ${seconds} `, fromMillis(0))).toBe(seconds * 1_000)
      }),
    )
  })

  it('read Retry-After as a date, and never as a negative wait', () => {
    const times = fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * 1_000)
    fc.assert(
      fc.property(times, times, (untilMs, nowMs) => {
        const text = new Date(untilMs).toUTCString()
        expect(parseRetryAfter(text, fromMillis(nowMs))).toBe(Math.max(0, untilMs - nowMs))
      }),
    )
  })

  it('take anything else in Retry-After as nothing said', () => {
    const words = fc.string().filter((text) => !/^\s*\d+\s*$/.test(text))
    fc.assert(fc.property(words, (text) => parseRetryAfter(text, fromMillis(0)) === undefined))
    for (const text of ['-1', '1.5', '1e3', '0x10', '']) expect(parseRetryAfter(text, fromMillis(0))).toBeUndefined()
  })

  it('read an HTTP date to the second, and nothing but an HTTP date', () => {
    const date = parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT')
    expect(date === undefined ? date : formatInstant(date)).toBe('1994-11-06T08:49:37.000000Z')
    for (const text of ['1994-11-06', 'Sun, 06 Nov 1994 08:49:37', 'Sun, 99 Nov 1994 08:49:37 GMT', 'now']) {
      expect(parseHttpDate(text)).toBeUndefined()
    }
  })
})
