/** Windows overlap and share instants, marks only go forward, and spans are cut without a gap (product contract §5). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Instant, millisBetween, minusMs, plusMs } from '../../src/instant.ts'
import { canSplit, splitAt, splitByTotal } from '../../src/plan/spans.ts'
import {
  type PreviousRun,
  CLOCK_GRAIN_MS,
  NO_PREVIOUS_RUN,
  markAfter,
  nextWindow,
  reachesBack,
  type WindowRules,
} from '../../src/plan/window.ts'
import { at, NOON } from '../support/warehouse.ts'

const RULES: WindowRules = {
  start: at('2000-01-01T00:00:00Z'),
  overlapMs: 600_000,
  settleMs: 30_000,
  sinceRequired: true,
}

const anInstant = fc.integer({ min: NOON - 1e12, max: NOON + 1e12 }).map((micros) => micros as Instant)
const someRules = fc.record({
  start: anInstant,
  overlapMs: fc.nat(3_600_000),
  settleMs: fc.nat(600_000),
  sinceRequired: fc.boolean(),
})

describe('the next window', () => {
  it('begins at the start where a lower bound is demanded, and goes without where it is not', () => {
    expect(nextWindow(NO_PREVIOUS_RUN, NOON, RULES).since).toBe(RULES.start)
    expect(nextWindow(NO_PREVIOUS_RUN, NOON, { ...RULES, sinceRequired: false }).since).toBeUndefined()
  })

  it("reaches the overlap behind the mark, and a little past the clock's whole second", () => {
    const mark = minusMs(NOON, 60_000)
    const window = nextWindow({ mark }, NOON, RULES)
    expect(millisBetween(window.since ?? NOON, mark)).toBe(RULES.overlapMs)
    expect(millisBetween(NOON, window.until)).toBe(CLOCK_GRAIN_MS)
    expect(window.serviceTime).toBe(NOON)
  })

  it('leaves no instant between it and the one before, whatever the clock does', () => {
    fc.assert(
      fc.property(someRules, fc.array(anInstant, { minLength: 2, maxLength: 8 }), (rules, clocks) => {
        let mark: Instant | undefined
        for (const clock of clocks) {
          const window = nextWindow({ mark }, clock, rules)
          if (mark !== undefined) expect(window.since).toBeLessThanOrEqual(mark)
          const next = markAfter(mark, window, rules.settleMs)
          if (mark !== undefined) expect(next).toBeGreaterThanOrEqual(mark)
          mark = next
        }
      }),
    )
  })
})

/** Some time after the run before, the service's clock jumps; rows are edited at some shares of the time till the next run. */
const someLives = fc.array(
  fc.record({
    gapMs: fc.nat(10_000_000),
    jumpMs: fc.oneof(fc.constant(0), fc.integer({ min: -90_000_000, max: 90_000_000 })),
    jumpsAt: fc.float({ min: 0, max: 1, noNaN: true }),
    editsAt: fc.array(fc.float({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 8 },
)

describe('windows of a service whose clock jumps', () => {
  it('hold every edit, in the first one that ends after its stamp', () => {
    fc.assert(
      fc.property(someLives, fc.nat(600_000), (lives, settleMs) => {
        const rules = { ...RULES, settleMs }
        let [ourMs, aheadMs] = [0, 0]
        let previous: PreviousRun = NO_PREVIOUS_RUN
        let waiting: Instant[] = []
        for (const { gapMs, jumpMs, jumpsAt, editsAt } of [
          { gapMs: 0, jumpMs: 0, jumpsAt: 0, editsAt: [] },
          ...lives,
        ]) {
          for (const share of editsAt) {
            const jumped = share >= jumpsAt ? jumpMs : 0
            waiting.push(plusMs(NOON, Math.ceil(ourMs + share * gapMs) + aheadMs + jumped))
          }
          ourMs += gapMs
          aheadMs += jumpMs
          const clock = plusMs(NOON, ourMs + aheadMs)
          const window = nextWindow({ ...previous, elapsedMs: gapMs }, clock, rules)
          for (const stamp of waiting.filter((each) => each <= window.until))
            expect(stamp).toBeGreaterThanOrEqual(window.since ?? stamp)
          waiting = waiting.filter((each) => each > window.until)
          previous = { mark: markAfter(previous.mark, window, settleMs), until: clock }
        }
      }),
    )
  })

  it('are the same as without our clock while the service only goes on, and no longer than from the start', () => {
    const mark = minusMs(NOON, 90_000)
    const before = { mark, until: minusMs(NOON, 60_000) }
    const plain = nextWindow({ mark }, NOON, RULES)
    for (const agoMs of [undefined, -5_000, 0, 59_000])
      expect(nextWindow({ ...before, elapsedMs: agoMs }, NOON, RULES)).toEqual(plain)
    const long = nextWindow({ ...before, elapsedMs: 1e14 }, NOON, RULES)
    expect(long.since).toBe(minusMs(RULES.start, RULES.overlapMs))
  })

  it('reach back too little where the clock they were cut on proves to have been set back', () => {
    const hourMs = 3_600_000
    const before = { mark: minusMs(NOON, 1_230_000), until: minusMs(NOON, 1_200_000), elapsedMs: 1_200_000 }
    const window = nextWindow(before, NOON, RULES)
    const reaches = (clock: Instant, from: PreviousRun = before) =>
      reachesBack(window, from, { serviceTime: clock, rules: RULES })
    expect([NOON, minusMs(NOON, 1_000), minusMs(NOON, hourMs)].map((clock) => reaches(clock))).toEqual([
      true,
      true,
      false,
    ])
    const ahead = { mark: plusMs(NOON, hourMs), until: plusMs(NOON, hourMs), elapsedMs: 0 }
    const seconds = [minusMs(NOON, 900), minusMs(NOON, 2_000)]
    const short = nextWindow(ahead, NOON, RULES)
    expect(seconds.map((clock) => reachesBack(short, ahead, { serviceTime: clock, rules: RULES }))).toEqual([
      true,
      false,
    ])
    expect(
      reachesBack(nextWindow(NO_PREVIOUS_RUN, NOON, RULES), NO_PREVIOUS_RUN, {
        serviceTime: minusMs(NOON, hourMs),
        rules: RULES,
      }),
    ).toBe(true)
  })
})

describe('the mark behind a window', () => {
  it('is its clock minus the settle time, and never what was not read', () => {
    expect(markAfter(undefined, nextWindow(NO_PREVIOUS_RUN, NOON, RULES), RULES.settleMs)).toBe(minusMs(NOON, 30_000))
    fc.assert(
      fc.property(fc.option(anInstant, { nil: undefined }), anInstant, someRules, (mark, clock, rules) => {
        const window = nextWindow({ mark }, clock, rules)
        const after = markAfter(mark, window, rules.settleMs)
        const reached = minusMs(clock, rules.settleMs)
        expect([reached, mark, window.since]).toContain(after)
        if (after > reached) expect([mark, window.since]).toContain(after)
      }),
    )
  })

  it('is no later than the end of a window that ends before its clock', () => {
    const until = minusMs(NOON, 3_600_000)
    expect(markAfter(undefined, { since: undefined, until, serviceTime: NOON }, 0)).toBe(until)
  })
})

describe('a span', () => {
  const aSpan = fc
    .tuple(anInstant, fc.integer({ min: 2, max: 1e10 }))
    .map(([since, length]) => ({ since, until: (since + length) as Instant }))

  it('is cut into parts that share their bounds and together are the whole', () => {
    fc.assert(
      fc.property(
        aSpan,
        fc.integer({ min: 1, max: 1e6 }),
        fc.integer({ min: 1, max: 1_000 }),
        (span, total, rowsEach) => {
          const parts = splitByTotal(span, total, rowsEach)
          expect(parts.length).toBeGreaterThanOrEqual(2)
          expect(parts[0]?.since).toBe(span.since)
          expect(parts.at(-1)?.until).toBe(span.until)
          for (const [n, part] of parts.slice(1).entries()) expect(part.since).toBe(parts[n]?.until)
          for (const part of parts) expect(part.until).toBeGreaterThan(part.since ?? part.until)
        },
      ),
    )
  })

  it('is cut at an instant inside it, which both parts hold, and nowhere else', () => {
    fc.assert(
      fc.property(aSpan, anInstant, (span, instant) => {
        const parts = splitAt(span, instant)
        const isInside = instant > span.since && instant < span.until
        expect(parts !== undefined).toBe(isInside)
        if (parts !== undefined)
          expect(parts).toEqual([
            { ...span, until: instant },
            { ...span, since: instant },
          ])
      }),
    )
  })

  it('is cut as long as it is more than an instant and has a lower bound', () => {
    expect(canSplit({ since: NOON, until: (NOON + 2) as Instant })).toBe(true)
    expect(canSplit({ since: NOON, until: (NOON + 1) as Instant })).toBe(false)
    expect(canSplit({ since: undefined, until: plusMs(NOON, 1) })).toBe(false)
  })
})
