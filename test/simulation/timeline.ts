/**
 * Virtual time. Everything that takes time (an answer on its way, a statement, a sleep) is an event here; the earliest
 * one happens only when nothing real is under way any more, so one seed gives one order of events, however fast the
 * machine is. What is real are DuckDB's statements, which are told to `real`, and files, which Node itself tells of.
 */
import { setImmediate as nextTurn, setTimeout as realSleep } from 'node:timers/promises'
import type { Clock } from '../../src/clock.ts'
import { fromMillis } from '../../src/instant.ts'
import type { Chance } from './chance.ts'

interface Happening {
  readonly atMs: number
  readonly order: number
  happen(): void
}

/** Files under way, as Node names them. */
const FILE_WORK = /^(?:FSReq|CloseReq|FileHandleCloseReq)/
/** How long real work that nobody told of may take before a run counts as hung, in milliseconds. */
const HUNG_MS = 5_000
const HUNG_LOOK_MS = 20

export class Hung extends Error {
  constructor() {
    super('the run waits for something that never happens')
    this.name = 'Hung'
  }
}

export class Timeline {
  nowMs = 0
  /** Events so far. */
  events = 0
  /** True while something is opened or closed outside of any run: statements then take no virtual time. */
  isReal = false
  /** True while `run` lets things happen. Otherwise nothing planned ever happens. */
  isRunning = false
  /** Called before each event, with its number within the seed. */
  onEvent: (number: number) => void = () => undefined
  readonly #queue: Happening[] = []
  readonly #real = new Set<Promise<unknown>>()
  #order = 0

  /** Has `happen` happen after `ms`; the returned function calls it off. */
  schedule(ms: number, happen: () => void): () => void {
    this.#order += 1
    const event = { atMs: this.nowMs + Math.max(0, ms), order: this.#order, happen }
    let at = this.#queue.length
    while (at > 0 && isLater(this.#queue[at - 1], event)) at -= 1
    this.#queue.splice(at, 0, event)
    return () => {
      const place = this.#queue.indexOf(event)
      if (place >= 0) this.#queue.splice(place, 1)
    }
  }

  wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.schedule(ms, resolve)
    return promise
  }

  /** Work that takes real time: nothing else happens before it ends. */
  async real<T>(work: Promise<T>): Promise<T> {
    this.#real.add(work)
    try {
      return await work
    } finally {
      this.#real.delete(work)
    }
  }

  /** Lets things happen until `work` has ended. */
  async run<T>(work: Promise<T>): Promise<T> {
    const wasRunning = this.isRunning
    this.isRunning = true
    return this.#until(work).finally(() => (this.isRunning = wasRunning))
  }

  async #until<T>(work: Promise<T>): Promise<T> {
    let ended = false
    const end = () => {
      ended = true
    }
    work.then(end, end)
    for (;;) {
      await this.#calm()
      if (ended) return work
      const event = this.#queue.shift() ?? (await this.#late(() => ended))
      if (event === undefined) return work
      this.nowMs = Math.max(this.nowMs, event.atMs)
      this.events += 1
      this.onEvent(this.events)
      event.happen()
    }
  }

  /** Lets time pass without anybody at work. */
  pass(ms: number): void {
    this.nowMs += ms
  }

  /** Until no statement, no file and no callback is left to wait for. */
  async #calm(): Promise<void> {
    for (let calmTurns = 0; calmTurns < 2; ) {
      await nextTurn()
      if (this.#real.size > 0) {
        await Promise.allSettled(this.#real)
        calmTurns = 0
      } else if (process.getActiveResourcesInfo().some((name) => FILE_WORK.test(name))) calmTurns = 0
      else calmTurns += 1
    }
  }

  /** Nothing is planned, and yet the work goes on: something real is under way that nobody told of. */
  async #late(hasEnded: () => boolean): Promise<Happening | undefined> {
    for (let waitedMs = 0; waitedMs < HUNG_MS; waitedMs += HUNG_LOOK_MS) {
      await realSleep(HUNG_LOOK_MS)
      await this.#calm()
      if (hasEnded()) return undefined
      const event = this.#queue.shift()
      if (event !== undefined) return event
    }
    throw new Hung()
  }
}

const isLater = (a: Happening | undefined, b: Happening): boolean =>
  a !== undefined && (a.atMs > b.atMs || (a.atMs === b.atMs && a.order > b.order))

/** The service's clock at the timeline's beginning: 2026-01-01T00:00:00Z. */
export const EPOCH_MS = Date.UTC(2026, 0, 1)

/** This machine's clock, which may be wrong and jump, on a timeline that is not. */
export class MachineClock implements Clock {
  /** How far the wall clock is ahead of the service's. */
  skewMs = 0
  readonly #timeline: Timeline
  readonly #chance: Chance

  constructor(timeline: Timeline, chance: Chance) {
    this.#timeline = timeline
    this.#chance = chance
  }

  now() {
    return fromMillis(EPOCH_MS + Math.floor(this.#timeline.nowMs) + this.skewMs)
  }

  monotonicMs(): number {
    return this.#timeline.nowMs + 12_345
  }

  random(): number {
    return this.#chance.next()
  }

  /** Nothing else runs between the slices of a scan: a seed has one order of events. */
  nextTurn(): Promise<void> {
    return Promise.resolve()
  }

  after(ms: number, action: () => void): () => void {
    return this.#timeline.schedule(ms, action)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (signal?.aborted === true) {
      reject(signal.reason as Error)
      return promise
    }
    const cancel = this.#timeline.schedule(ms, () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    })
    const stop = () => {
      cancel()
      reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', stop, { once: true })
    return promise
  }
}
