/** Instants: whole microseconds, read from ISO 8601 and written back without a loss (spec §4, rule 1). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  earliest,
  formatInstant,
  fromMillis,
  type Instant,
  latest,
  millisBetween,
  minusMs,
  parseInstant,
  plusMs,
  toMillis,
} from '../../src/instant.ts'

/** 1700 to 2255: what a number of microseconds holds exactly. */
const anInstant = fc
  .integer({ min: -8_520_336_000_000_000, max: 8_993_980_799_999_999 })
  .map((micros) => micros as Instant)

describe('an instant', () => {
  it('comes back from its text to the microsecond, and the text from it', () => {
    fc.assert(
      fc.property(anInstant, (instant) => {
        const text = formatInstant(instant)
        expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
        expect(parseInstant(text)).toBe(instant)
        expect(formatInstant(parseInstant(text) as Instant)).toBe(text)
      }),
      { numRuns: 1_000 },
    )
  })

  it('sorts as its text does', () => {
    fc.assert(
      fc.property(anInstant, anInstant, (a, b) => {
        expect(Math.sign(a - b)).toBe(formatInstant(a) < formatInstant(b) ? -1 : Number(a !== b))
        expect([earliest(a, b), latest(a, b)]).toEqual([Math.min(a, b), Math.max(a, b)])
      }),
    )
  })

  it('moves by milliseconds and back', () => {
    fc.assert(
      fc.property(anInstant, fc.integer({ min: -1e9, max: 1e9 }), (instant, ms) => {
        expect(minusMs(plusMs(instant, ms), ms)).toBe(instant)
        expect(millisBetween(instant, plusMs(instant, ms))).toBe(ms)
      }),
    )
  })

  it("agrees with JavaScript's own dates to the millisecond", () => {
    fc.assert(
      fc.property(anInstant, (instant) => {
        const ms = toMillis(instant)
        expect(formatInstant(instant).slice(0, 23)).toBe(new Date(ms).toISOString().slice(0, 23))
        expect(toMillis(fromMillis(ms))).toBe(ms)
      }),
    )
  })
})

describe('a text', () => {
  it.each([
    ['2026-03-01T10:20:30Z', '2026-03-01T10:20:30.000000Z'],
    ['2026-03-01T10:20:30', '2026-03-01T10:20:30.000000Z'],
    ['2026-03-01 10:20:30', '2026-03-01T10:20:30.000000Z'],
    ['2026-03-01t10:20:30z', '2026-03-01T10:20:30.000000Z'],
    ['2026-03-01T10:20', '2026-03-01T10:20:00.000000Z'],
    ['2026-03-01', '2026-03-01T00:00:00.000000Z'],
    ['2026-03-01T10:20:30.1Z', '2026-03-01T10:20:30.100000Z'],
    ['2026-03-01T10:20:30,25Z', '2026-03-01T10:20:30.250000Z'],
    ['2026-03-01T10:20:30.123456Z', '2026-03-01T10:20:30.123456Z'],
    ['2026-03-01T10:20:30.1234567Z', '2026-03-01T10:20:30.123456Z'],
    ['2026-03-01T10:20:30.123456999999', '2026-03-01T10:20:30.123456Z'],
    ['2026-03-01T10:20:30+02:00', '2026-03-01T08:20:30.000000Z'],
    ['2026-03-01T10:20:30-0530', '2026-03-01T15:50:30.000000Z'],
    ['2026-03-01T10:20:30+02', '2026-03-01T08:20:30.000000Z'],
    ['2026-03-01T00:00:00.5+14:00', '2026-02-28T10:00:00.500000Z'],
    ['1969-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.999999Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000000Z'],
  ])('%s is %s', (text, instant) => {
    expect(formatInstant(parseInstant(text) as Instant)).toBe(instant)
  })

  it.each([
    '',
    'now',
    '2026',
    '2026-03',
    '20260301',
    '2026-3-1',
    '2026-02-30',
    '2025-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '2026-01-32',
    '2026-03-01T',
    '2026-03-01T25:00:00Z',
    '2026-03-01T10:60:00Z',
    '2026-03-01T10:20:61Z',
    '2026-03-01T10:20:30.Z',
    '2026-03-01T10:20:30 Z',
    ' 2026-03-01',
    '2026-03-01Z',
    '2026-03-01T10:20:30Europe/Berlin',
    '2026-02-30T10:00:00+02:00',
    '1772359200',
  ])('%j is no instant', (text) => {
    expect(parseInstant(text)).toBeUndefined()
  })

  it('that is malformed is refused or becomes a number, and never throws', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9TtZz:.,+\- ]{0,30}$/), (text) => {
        const instant = parseInstant(text)
        if (instant !== undefined) expect(Number.isInteger(instant)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})
