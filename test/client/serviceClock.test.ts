/** The lower bound of the service's clock: what raises it, what does not lower it, and what does. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ServiceClock } from '../../src/client/serviceClock.ts'
import { fromMillis, toMillis } from '../../src/instant.ts'
import { aClient, aRequest, aService, inTurn, json, QuickClock, type Reply } from './support.ts'

const NOON_MS = Date.UTC(2026, 5, 1, 12)
const noonPlus = (ms: number) => fromMillis(NOON_MS + ms)

const withoutDate: Reply = (response, call, number) => {
  response.sendDate = false
  json([])(response, call, number)
}

const datedAt = (ms: number) => json([], 200, { date: new Date(ms).toUTCString() })

describe('the service clock', () => {
  it('knows nothing before an answer was seen', async () => {
    await using service = await aService()
    await using client = aClient(service)
    await client.token()
    expect(client.serviceNow()).toBeUndefined()
    expect(client.clockIsOurs).toBe(false)
  })

  it('goes on from the last Date header by the time that passed since, whatever our wall clock does', async () => {
    const clock = new QuickClock()
    await using service = await aService({ report: datedAt(NOON_MS) })
    await using client = aClient(service, { clock })
    expect((await client.read(aRequest())).servedAt).toBe(noonPlus(0))
    clock.elapsedMs += 90_000
    clock.wallMs -= 10_000_000
    expect(client.serviceNow()).toBe(noonPlus(90_000))
  })

  it('stands in with our own clock, and says so once, when answers carry no Date', async () => {
    const clock = new QuickClock()
    await using service = await aService({ report: withoutDate })
    await using client = aClient(service, { clock })
    const answers = [await client.read(aRequest()), await client.read(aRequest())]
    expect(answers.map(({ servedAt }) => servedAt)).toEqual([clock.now(), clock.now()])
    expect(client.serviceNow()).toBe(clock.now())
    expect(client.clockIsOurs).toBe(true)
    expect(client.events.filter(({ kind }) => kind === 'clock is ours')).toHaveLength(1)
  })

  it('uses what Dates told before for an answer that has none', async () => {
    const clock = new QuickClock()
    await using service = await aService({ report: inTurn(datedAt(NOON_MS), withoutDate) })
    await using client = aClient(service, { clock })
    await client.read(aRequest())
    clock.pass(5_000)
    expect((await client.read(aRequest())).servedAt).toBe(noonPlus(5_000))
    expect(client.clockIsOurs).toBe(false)
  })

  it('follows a service whose clock was really set back', async () => {
    const clock = new QuickClock()
    await using service = await aService({ report: inTurn(datedAt(NOON_MS), datedAt(NOON_MS - 60_000)) })
    await using client = aClient(service, { clock })
    await client.read(aRequest())
    await client.read(aRequest())
    expect(client.serviceNow()).toBe(noonPlus(-60_000))
  })

  it('is not set back by an old answer that arrives late', () => {
    const clock = new QuickClock()
    const serviceClock = new ServiceClock(clock)
    // Sent first, written at noon, arrived after a minute; meanwhile another went there and back.
    serviceClock.observe({ date: noonPlus(50_000), sentMs: 51_000, arrivedMs: 51_000 })
    clock.elapsedMs = 61_000
    serviceClock.observe({ date: noonPlus(0), sentMs: 1_000, arrivedMs: 61_000 })
    expect(serviceClock.now()).toBe(noonPlus(60_000))
  })

  it('never runs ahead of a service that keeps steady time, and never goes back', () => {
    const exchange = fc.record({ gapMs: fc.nat(60_000), thereMs: fc.nat(5_000), backMs: fc.nat(5_000) })
    fc.assert(
      fc.property(fc.array(exchange, { minLength: 1 }), fc.integer({ min: -1e9, max: 1e9 }), (exchanges, skewMs) => {
        const clock = new QuickClock()
        const serviceClock = new ServiceClock(clock)
        const trueMs = (monotonicMs: number) => NOON_MS + skewMs + monotonicMs
        let seen = Number.NEGATIVE_INFINITY
        for (const { gapMs, thereMs, backMs } of exchanges) {
          clock.elapsedMs += gapMs
          const sentMs = clock.elapsedMs
          const writtenMs = Math.floor(trueMs(sentMs + thereMs) / 1_000) * 1_000
          clock.elapsedMs += thereMs + backMs
          serviceClock.observe({ date: fromMillis(writtenMs), sentMs, arrivedMs: clock.elapsedMs })
          const now = toMillis(serviceClock.now() ?? fromMillis(Number.NaN))
          expect(now).toBeLessThanOrEqual(trueMs(clock.elapsedMs))
          expect(now).toBeGreaterThanOrEqual(trueMs(clock.elapsedMs) - 1_000 - backMs)
          expect(now).toBeGreaterThanOrEqual(seen)
          seen = now
        }
      }),
    )
  })
})
