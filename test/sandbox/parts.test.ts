/** The parts that everything else stands on: the time, the exact numbers and the pages. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { convert } from '../../src/sandbox/dice.ts'
import { decimalText } from '../../src/sandbox/money.ts'
import { pageOf, shuffled } from '../../src/sandbox/paging.ts'
import { Faults } from '../../src/sandbox/faults.ts'
import { RequestLog } from '../../src/sandbox/requestLog.ts'
import { formatTicks, parseTicks, TIME_STYLES } from '../../src/sandbox/ticks.ts'
import { HandClock } from './handClock.ts'

describe('ticks', () => {
  it('come back from text in every style', () => {
    const ticks = fc.integer({ min: -8_000_000_000_000_000, max: 8_000_000_000_000_000 })
    const style = fc.constantFrom(...TIME_STYLES.filter((each) => each !== 'mixed'))
    fc.assert(fc.property(ticks, style, (at, style) => parseTicks(formatTicks(at, style)) === at))
  })

  it('are written as ISO 8601 with seven digits', () => {
    const at = parseTicks('2025-03-31T23:59:59.0000001Z') ?? 0
    expect([formatTicks(at), formatTicks(at, 'offset'), formatTicks(at - 1, 'bare')]).toEqual([
      '2025-03-31T23:59:59.0000001Z',
      '2025-04-01T01:59:59.0000001+02:00',
      '2025-03-31T23:59:59',
    ])
  })
})

describe('amounts', () => {
  it.each([
    [0n, '0'],
    [1n, '0.000000001'],
    [-1_500_000_000n, '-1.5'],
    [12_345_678_901_234_567_890_100_000_000n, '12345678901234567890.1'],
  ])('are written exactly: %s nano-units are %s', (nano, text) => {
    expect(decimalText(nano)).toBe(text)
  })

  it('stay what they are in their own currency and move with the rate table in others', () => {
    expect(converted('EUR', 1)).not.toBe(converted('EUR', 0))
    expect(converted('USD', 1)).toBe(10n ** 12n)
  })
})

const converted = (from: 'EUR' | 'USD', table: number) =>
  convert(10n ** 12n, [from, 'USD'], { seed: 3, amounts: 'long', rateTable: () => table })

describe('pages', () => {
  it('cover every row exactly once, also when one of them is short or the order is another one', () => {
    const cases = fc.record({
      total: fc.nat(200),
      size: fc.integer({ min: 1, max: 60 }),
      short: fc.boolean(),
      request: fc.nat(),
    })
    fc.assert(
      fc.property(cases, ({ total, size, short, request }) => {
        const faults = new Faults(short ? ['short-page'] : [])
        const seen: number[] = []
        for (let number = 1; number <= Math.ceil(total / size) + 2; number += 1) {
          const values = new Map([
            ['pageNumber', number],
            ['pageSize', size],
          ])
          const page = pageOf(
            { values, total, limits: { pageSizeDefault: 1, pageSizeMax: 100 }, report: 'events' },
            faults,
          )
          seen.push(...shuffled(total, page, request))
        }
        return same(
          seen.toSorted((a, b) => a - b),
          Array.from({ length: total }, (_, place) => place),
        )
      }),
    )
  })
})

describe('the log of requests', () => {
  it('keeps the newest two thousand and counts all', () => {
    const log = new RequestLog()
    const at = new HandClock().now()
    for (let i = 0; i < 2_005; i += 1) log.add({ at, path: `/${i % 2}`, status: 200, body: String(i), problems: [] })
    expect([log.total, log.list().length, log.list()[0]?.body, log.list().at(-1)?.body]).toEqual([
      2_005,
      2_000,
      '5',
      '2004',
    ])
    expect(log.counts()).toEqual({ '/0': 1_003, '/1': 1_002 })
    log.clear()
    expect(log.list()).toEqual([])
  })
})

const same = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((each, i) => each === b[i])
