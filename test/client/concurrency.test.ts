/** The limiter: how many requests are in flight, in which order, and pauses of other processes. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  afterOverload,
  afterResponse,
  type Concurrency,
  firstConcurrency,
  limitOf,
} from '../../src/client/concurrency.ts'
import { FairQueue, Limiter, type Permit, type Priority, type SharedPauses } from '../../src/client/limiter.ts'
import { aClient, aRequest, aService, inTurn, json, QuickClock, type Reply, status } from './support.ts'

const { signal } = new AbortController()
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** As many good answers as the limit allows. `ms`: the time of each. */
function round(before: Concurrency, ms = 150): Concurrency {
  return Array.from({ length: limitOf(before) }).reduce<Concurrency>((now) => afterResponse(now, ms, before), before)
}

const rounds = (count: number, before: Concurrency): Concurrency =>
  Array.from({ length: count }).reduce<Concurrency>((now) => round(now), before)

/** The limit before each of the rounds. `msOf`: the time of an answer, by the limit. */
function limitsSeen(count: number, before: Concurrency, msOf: (limit: number) => number = () => 150): number[] {
  let concurrency = before
  return Array.from({ length: count }, () => {
    const limit = limitOf(concurrency)
    concurrency = round(concurrency, msOf(limit))
    return limit
  })
}

describe('the adaptive concurrency', () => {
  it('begins with four and doubles with every round of good answers, up to the concurrency', () => {
    expect(limitsSeen(5, firstConcurrency(20))).toEqual([4, 8, 16, 20, 20])
    expect(limitOf(firstConcurrency(1))).toBe(1)
  })

  it('is halved by trouble, and then grows by one a round', () => {
    const full = rounds(4, firstConcurrency(16))
    expect(limitsSeen(4, afterOverload(full, full))).toEqual([8, 8, 9, 10])
  })

  it('is halved once by all requests that were in flight together, and again by a later one', () => {
    const full = rounds(4, firstConcurrency(16))
    const halved = Array.from({ length: 16 }).reduce<Concurrency>((now) => afterOverload(now, full), full)
    expect(limitOf(halved)).toBe(8)
    expect(limitOf(afterOverload(halved, halved))).toBe(4)
  })

  it('goes back to four while answers take longer with more at once', () => {
    const seen = limitsSeen(40, firstConcurrency(16), (limit) => (limit > 4 ? 150 * limit : 150))
    expect(seen.slice(0, 2)).toEqual([4, 8])
    expect(Math.max(...seen.slice(8))).toBeLessThanOrEqual(6)
    expect(Math.min(...seen.slice(2))).toBe(4)
  })

  it('keeps four, however slow the answers become, and grows again when they stay at the new time', () => {
    const full = rounds(3, firstConcurrency(8))
    expect(limitOf(full)).toBe(8)
    const seen = limitsSeen(21, full, () => 1_500)
    expect(Math.min(...seen)).toBe(4)
    expect(seen.at(-1)).toBe(8)
  })

  it('always stays between one and the concurrency', () => {
    const happenings = fc.array(fc.constantFrom('good', 'slow', 'strain', 'late strain'))
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), happenings, (max, happened) => {
        let concurrency = firstConcurrency(max)
        for (const what of happened) {
          const earlier = { ...concurrency, halvings: concurrency.halvings - 1 }
          if (what === 'strain') concurrency = afterOverload(concurrency, concurrency)
          else if (what === 'late strain') concurrency = afterOverload(concurrency, earlier)
          else concurrency = afterResponse(concurrency, what === 'slow' ? 900 : 150, concurrency)
          expect(limitOf(concurrency)).toBeGreaterThanOrEqual(1)
          expect(limitOf(concurrency)).toBeLessThanOrEqual(max)
        }
      }),
    )
  })
})

describe('the queue for permits', () => {
  const arrivals = fc.array(fc.constantFrom<Priority>('first', 'behind'), { maxLength: 60 })

  it('serves first before behind, each in the order of arrival', () => {
    const queue = new FairQueue<string>()
    queue.add('old 1', 'behind')
    queue.add('old 2', 'behind')
    queue.add('new 1', 'first')
    queue.add('new 2', 'first')
    expect([1, 2, 3, 4, 5].map(() => queue.next())).toEqual(['new 1', 'new 2', 'old 1', 'old 2', undefined])
  })

  it('lets one from behind through after at most seven, however many come first', () => {
    fc.assert(
      fc.property(arrivals, (before) => {
        const queue = new FairQueue<Priority>()
        for (const priority of before) queue.add(priority, priority)
        queue.add('behind', 'behind')
        let waitingBehind = before.filter((priority) => priority === 'behind').length + 1
        for (let inARow = 0; waitingBehind > 0; ) {
          queue.add('first', 'first')
          const isFirst = queue.next() === 'first'
          inARow = isFirst ? inARow + 1 : 0
          if (!isFirst) waitingBehind -= 1
          expect(inARow).toBeLessThanOrEqual(7)
        }
      }),
    )
  })

  it('serves each waiter exactly once, and none that left', () => {
    fc.assert(
      fc.property(arrivals, fc.array(fc.nat(59)), (priorities, leavers) => {
        const queue = new FairQueue<number>()
        priorities.forEach((priority, number) => queue.add(number, priority))
        const gone = new Set(leavers.filter((number) => queue.remove(number)))
        const served = Array.from({ length: queue.length }, () => queue.next())
        const expected = priorities.map((_, number) => number).filter((number) => !gone.has(number))
        expect(served.toSorted((a, b) => Number(a) - Number(b))).toEqual(expected)
        expect(queue.next()).toBeUndefined()
      }),
    )
  })
})

describe('the limiter', () => {
  it('gives out more permits as answers come, and half of them after trouble', async () => {
    const limiter = new Limiter({ concurrency: 8 }, new QuickClock())
    const held: Permit[] = []
    for (let waiting = 0; waiting < 40; waiting += 1) void limiter.acquire(signal).then((permit) => held.push(permit))
    const end = async (how: 'succeeded' | 'overloaded') => {
      for (const permit of held.splice(0)) {
        permit[how]()
        permit[Symbol.dispose]()
      }
      await settled()
      return held.length
    }
    await settled()
    expect(held).toHaveLength(4)
    expect(await end('succeeded')).toBe(8)
    expect(await end('overloaded')).toBe(4)
    expect(await end('succeeded')).toBe(4)
    expect(await end('succeeded')).toBe(5)
  })

  it('does not grow from answers while fewer than allowed were in flight', async () => {
    const limiter = new Limiter({ concurrency: 16 }, new QuickClock())
    for (let answers = 0; answers < 100; answers += 1) {
      using permit = await limiter.acquire(signal)
      permit.succeeded()
    }
    const held: Permit[] = []
    for (let waiting = 0; waiting < 16; waiting += 1) void limiter.acquire(signal).then((permit) => held.push(permit))
    await settled()
    expect(held).toHaveLength(4)
  })

  it('lets incremental reads overtake those of a backfill', async () => {
    const limiter = new Limiter({ concurrency: 1 }, new QuickClock())
    const permit = await limiter.acquire(signal)
    const order: Priority[] = []
    const waits = (['behind', 'behind', 'first'] as const).map(async (priority) => {
      using _permit = await limiter.acquire(signal, priority)
      order.push(priority)
    })
    permit[Symbol.dispose]()
    await Promise.all(waits)
    expect(order).toEqual(['first', 'behind', 'behind'])
  })
})

/** So long that, on a busy machine too, all requests that are allowed arrive before the first response. */
const RESPONSE_MS = 200

const slowly =
  (reply: Reply): Reply =>
  (response, call, number) =>
    setTimeout(() => void reply(response, call, number), RESPONSE_MS)
const many = (client: ReturnType<typeof aClient>, count: number) =>
  Promise.all(Array.from({ length: count }, () => client.read(aRequest())))

describe('a client', () => {
  it('begins with four requests at once and comes to use all that it may', async () => {
    await using service = await aService({ report: slowly(json([])) })
    await using client = aClient(service, { settings: { concurrency: 6 } })
    await many(client, 5)
    expect(service.seen.atOnceMax).toBe(4)
    await many(client, 30)
    expect(service.seen.atOnceMax).toBe(6)
  })

  describe.each([
    ['503', status(503), { tags: 'long' }],
    ['429', status(429, '', { 'retry-after': '1' }), {}],
  ])('after a %s', (_, trouble, options) => {
    it('sends fewer at once', options, async () => {
      let isStrained = false
      const report: Reply = (response, call, number) =>
        (isStrained ? trouble : slowly(json([])))(response, call, number)
      await using service = await aService({ report })
      await using client = aClient(service, { settings: { concurrency: 8, limits: { attemptsMax: 1 } } })
      await many(client, 40)
      expect(service.seen.atOnceMax).toBe(8)
      isStrained = true
      await client.read(aRequest()).catch(() => undefined)
      await client.read(aRequest()).catch(() => undefined)
      isStrained = false
      service.seen.atOnceMax = 0
      await many(client, 4)
      expect(service.seen.atOnceMax).toBe(2)
    })
  })

  it('learns nothing bad from an answer that only refuses one request', async () => {
    await using service = await aService({ report: slowly(inTurn(status(400), status(400), json([]))) })
    await using client = aClient(service, { settings: { concurrency: 4 } })
    await Promise.allSettled([client.read(aRequest()), client.read(aRequest())])
    await many(client, 20)
    expect(service.seen.atOnceMax).toBe(4)
  })
})

describe('shared pauses', () => {
  /** One pause for all clients of a test, on one clock, and how often it was asked for. */
  class Board implements SharedPauses {
    looks = 0
    readonly #clock: QuickClock
    #untilMs = 0

    constructor(clock: QuickClock) {
      this.#clock = clock
    }

    async pause(ms: number) {
      this.#untilMs = Math.max(this.#untilMs, this.#clock.elapsedMs + ms)
    }

    async remainingMs() {
      this.looks += 1
      return Math.max(0, this.#untilMs - this.#clock.elapsedMs)
    }
  }

  it('hold up a client that met no 429 itself', async () => {
    const clock = new QuickClock()
    const sharedPauses = new Board(clock)
    await using service = await aService({ report: inTurn(status(429, '', { 'retry-after': '9' }), json([])) })
    await using one = aClient(service, { clock, sharedPauses, settings: { limits: { attemptsMax: 1 } } })
    await using other = aClient(service, { clock, sharedPauses })
    await one.read(aRequest()).catch(() => undefined)
    const pausedMs = clock.elapsedMs
    await other.read(aRequest())
    expect(clock.elapsedMs - pausedMs).toBeGreaterThanOrEqual(9_000)
    expect(clock.sleeps).toEqual([9_000])
  })

  it('are looked up once for many requests, and again after a quarter of a second', async () => {
    const clock = new QuickClock()
    const sharedPauses = new Board(clock)
    await using service = await aService()
    await using client = aClient(service, { clock, sharedPauses })
    await Promise.all(Array.from({ length: 20 }, () => client.read(aRequest())))
    expect(sharedPauses.looks).toBe(1)
    clock.pass(250)
    await client.read(aRequest())
    expect(sharedPauses.looks).toBe(2)
  })

  it('that cannot be looked up hold nobody up', async () => {
    const sharedPauses: SharedPauses = {
      pause: () => Promise.reject(new TypeError('away')),
      remainingMs: () => Promise.reject(new TypeError('away')),
    }
    await using service = await aService({ report: inTurn(status(429, '', { 'retry-after': '1' }), json([])) })
    await using client = aClient(service, { sharedPauses })
    await client.read(aRequest())
    expect(client.counters.requests).toBe(2)
  })
})
