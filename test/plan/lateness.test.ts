/** Late rows: what counts as asked before, how late a row is at least, and which overlap follows from it. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { advisedOverlap, parseDuration } from '../../src/units.ts'
import { type Instant, minusMs, plusMs } from '../../src/instant.ts'
import { previousRead, latenessMs } from '../../src/plan/lateness.ts'

const NOON = 1_772_366_400_000_000 as Instant
const MINUTE_MS = 60_000
const SETTLE_MS = 30_000

describe('what was asked before', () => {
  it('ends at the mark and was asked at the clock that left it', () => {
    const until = minusMs(NOON, MINUTE_MS)
    const mark = minusMs(until, SETTLE_MS)
    expect(previousRead({ mark, until }, NOON, SETTLE_MS)).toEqual({ until: mark, at: until })
    // Books that lost the window know the clock from the mark.
    expect(previousRead({ mark, until: undefined }, NOON, SETTLE_MS)).toEqual({ until: mark, at: until })
  })

  it('is nothing in a first run, and nothing while the service has set its clock back', () => {
    expect(previousRead({ mark: undefined, until: undefined }, NOON, SETTLE_MS)).toBeUndefined()
    expect(previousRead({ mark: NOON, until: plusMs(NOON, SETTLE_MS) }, NOON, SETTLE_MS)).toBeUndefined()
  })

  it('ends where the last window did when its mark is further, as after a clock that was set back', () => {
    const until = minusMs(NOON, MINUTE_MS)
    expect(previousRead({ mark: NOON, until }, NOON, SETTLE_MS)).toEqual({ until, at: until })
  })

  it('says how late a row is at least: from its stamp to the clock at which it was not shown', () => {
    const asked = { until: minusMs(NOON, SETTLE_MS), at: NOON }
    expect(latenessMs(minusMs(NOON, 7 * MINUTE_MS), asked)).toBe(7 * MINUTE_MS)
    expect(latenessMs(plusMs(NOON, 1), asked)).toBe(0)
  })
})

describe('the advised overlap', () => {
  it('is none while rows come within half of it', () => {
    expect(advisedOverlap(5 * MINUTE_MS, 10 * MINUTE_MS)).toBeUndefined()
    expect(advisedOverlap(0, 0)).toBeUndefined()
  })

  it.each([
    [7 * MINUTE_MS, '15m'],
    [5.1 * MINUTE_MS, '15m'],
    [400, '1s'],
    [61_000, '3m'],
    [50 * MINUTE_MS, '105m'],
    [3 * 3_600_000, '6h'],
    [40 * 3_600_000, '4d'],
  ])('for %i ms is %s', (lateness, setting) => {
    expect(advisedOverlap(lateness, 0)).toBe(setting)
  })

  it('is at least twice the lateness, not far above it, readable, and once set it is enough', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1e10, noNaN: true }), fc.nat(1e9), (lateness, overlapMs) => {
        const setting = advisedOverlap(lateness, overlapMs)
        if (setting === undefined) {
          expect(lateness).toBeLessThanOrEqual(overlapMs / 2)
          return
        }
        const advised = parseDuration(setting) ?? 0
        expect(advised).toBeGreaterThanOrEqual(2 * lateness)
        // Whole seconds: just above half a second they are coarse.
        expect(advised).toBeLessThanOrEqual(Math.max(2_000, 3 * lateness))
        expect(advisedOverlap(lateness, advised)).toBeUndefined()
      }),
      { examples: [[501, 0]] },
    )
  })
})
