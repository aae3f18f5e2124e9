/** Windows overlap and share instants, marks only go forward, and spans are cut without a gap (product contract §5). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Instant, millisBetween, minusMs, plusMs } from '../../src/instant.ts'
import { canSplit, splitAt, splitByTotal } from '../../src/plan/spans.ts'
import { CLOCK_GRAIN_MS, markAfter, nextWindow, type WindowRules } from '../../src/plan/window.ts'
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
    expect(nextWindow(undefined, NOON, RULES).since).toBe(RULES.start)
    expect(nextWindow(undefined, NOON, { ...RULES, sinceRequired: false }).since).toBeUndefined()
  })

  it("reaches the overlap behind the mark, and a little past the clock's whole second", () => {
    const mark = minusMs(NOON, 60_000)
    const window = nextWindow(mark, NOON, RULES)
    expect(millisBetween(window.since ?? NOON, mark)).toBe(RULES.overlapMs)
    expect(millisBetween(NOON, window.until)).toBe(CLOCK_GRAIN_MS)
    expect(window.clock).toBe(NOON)
  })

  it('leaves no instant between it and the one before, whatever the clock does', () => {
    fc.assert(
      fc.property(someRules, fc.array(anInstant, { minLength: 2, maxLength: 8 }), (rules, clocks) => {
        let mark: Instant | undefined
        for (const clock of clocks) {
          const window = nextWindow(mark, clock, rules)
          if (mark !== undefined) expect(window.since).toBeLessThanOrEqual(mark)
          const next = markAfter(mark, window, rules.settleMs)
          if (mark !== undefined) expect(next).toBeGreaterThanOrEqual(mark)
          mark = next
        }
      }),
    )
  })
})

describe('the mark behind a window', () => {
  it('is its clock minus the settle time, and never what was not read', () => {
    expect(markAfter(undefined, nextWindow(undefined, NOON, RULES), RULES.settleMs)).toBe(minusMs(NOON, 30_000))
    fc.assert(
      fc.property(fc.option(anInstant, { nil: undefined }), anInstant, someRules, (mark, clock, rules) => {
        const window = nextWindow(mark, clock, rules)
        const after = markAfter(mark, window, rules.settleMs)
        const reached = minusMs(clock, rules.settleMs)
        expect([reached, mark, window.since]).toContain(after)
        if (after > reached) expect([mark, window.since]).toContain(after)
      }),
    )
  })

  it('is no later than the end of a window that ends before its clock', () => {
    const until = minusMs(NOON, 3_600_000)
    expect(markAfter(undefined, { since: undefined, until, clock: NOON }, 0)).toBe(until)
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
