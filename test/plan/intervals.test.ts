/** Spans put together: what is covered, where gaps are, how far everything is proven. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Instant } from '../../src/instant.ts'
import { gapsIn, merged, provenUpTo, type Span } from '../../src/plan/spans.ts'

const LAST = 60
const instants = fc.integer({ min: 0, max: LAST }).map((n) => n as Instant)
const aSpan: fc.Arbitrary<Span> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(instants, instants).map(([since, until]): Span => ({ since, until })) },
  { weight: 1, arbitrary: instants.map((until): Span => ({ since: undefined, until })) },
)
const someSpans = fc.array(aSpan, { maxLength: 8 })

/** Whether the time between `at` and the next whole number lies in a span, looked up the slow way. */
const holds = (spans: readonly Span[], at: number): boolean =>
  spans.some(({ since, until }) => (since === undefined || since <= at) && until >= at + 1)
const steps = Array.from({ length: LAST }, (_, n) => n)

describe('merged spans', () => {
  it('hold the same time, in order, with something missing between each two', () => {
    fc.assert(
      fc.property(someSpans, (spans) => {
        const islands = merged(spans)
        expect(steps.filter((at) => holds(islands, at))).toEqual(steps.filter((at) => holds(spans, at)))
        for (const [n, island] of islands.entries()) {
          if (n > 0) expect(island.since).toBeGreaterThan(islands[n - 1]?.until ?? Infinity)
        }
      }),
    )
  })

  it('are the same in whatever order they came, and merged once more', () => {
    fc.assert(
      fc.property(someSpans, (spans) => {
        expect(merged(spans.toReversed())).toEqual(merged(spans))
        expect(merged(merged(spans))).toEqual(merged(spans))
      }),
    )
  })

  it('of which one ends before it begins hold nothing of it', () => {
    expect(merged([{ since: 5 as Instant, until: 4 as Instant }])).toEqual([])
  })
})

describe('gaps', () => {
  it('are the time behind the start that no span before the last one holds', () => {
    fc.assert(
      fc.property(someSpans, instants, (spans, from) => {
        const end = Math.max(from, ...merged(spans).map(({ until }) => until))
        const missing = steps.filter((at) => at >= from && at + 1 <= end && !holds(spans, at))
        expect(steps.filter((at) => holds(gapsIn(spans, from), at))).toEqual(missing)
      }),
    )
  })
})

describe('what is proven without a gap', () => {
  it('ends where the first step is missing, whatever order spans come in', () => {
    fc.assert(
      fc.property(someSpans, instants, (spans, from) => {
        const missing = steps.find((at) => at >= from && !holds(spans, at)) ?? LAST
        expect(provenUpTo(from, spans)).toBe(Math.max(from, missing))
        expect(provenUpTo(from, spans.toReversed())).toBe(provenUpTo(from, spans))
      }),
    )
  })

  it('never goes back when one more span is proven, and a span behind a gap moves nothing until the gap is filled', () => {
    fc.assert(
      fc.property(someSpans, aSpan, instants, (spans, more, from) => {
        expect(provenUpTo(from, [...spans, more])).toBeGreaterThanOrEqual(provenUpTo(from, spans) ?? 0)
      }),
    )
    const [mark, late] = [10 as Instant, { since: 20 as Instant, until: 30 as Instant }]
    expect(provenUpTo(mark, [late])).toBe(10)
    expect(provenUpTo(mark, [late, { since: 10 as Instant, until: 20 as Instant }])).toBe(30)
  })

  it('begins with the earliest span where nothing was proven before', () => {
    expect(provenUpTo(undefined, [])).toBeUndefined()
    expect(provenUpTo(undefined, [{ since: undefined, until: 7 as Instant }])).toBe(7)
  })
})
