/** The search by totals for spans of creation whose rows differ: what it finds, and what it costs. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Instant } from '../../src/instant.ts'
import { mergedRanges, searchDiffering, type CreationRange } from '../../src/plan/countSearch.ts'

interface World {
  readonly ranges: readonly CreationRange[]
  /** Rows that the service has of each range. */
  readonly there: readonly number[]
}

const worlds = fc
  .array(
    fc.record({
      held: fc.nat(40),
      changed: fc.oneof(
        { weight: 9, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.integer({ min: -5, max: 5 }) },
      ),
    }),
    {
      minLength: 1,
      maxLength: 300,
    },
  )
  .map(
    (drawn): World => ({
      ranges: drawn.map(({ held }, n) => ({ since: (n * 10) as Instant, until: (n * 10 + 10) as Instant, rows: held })),
      there: drawn.map(({ held, changed }) => Math.max(0, held + changed)),
    }),
  )

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

function searched({ ranges, there }: World, rangesMax = Infinity) {
  const search = searchDiffering(ranges, sum(there), rangesMax)
  let requests = 0
  let step = search.next()
  while (step.done !== true) {
    requests += 1
    const until: number = step.value
    step = search.next(sum(there.filter((_, n) => (ranges[n]?.until ?? 0) <= until)))
  }
  return { requests, found: step.value.map((range) => ranges.indexOf(range)) }
}

const within = (note: CreationRange, range: CreationRange): boolean =>
  (range.since ?? -Infinity) <= (note.since ?? -Infinity) && note.until <= range.until

describe('a search by totals', () => {
  it('finds only spans that differ, and each of them where no two of them make up for each other', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const differ = world.ranges.flatMap(({ rows }, n) => (world.there[n] === rows ? [] : [n]))
        const { found } = searched(world)
        expect(differ).toEqual(expect.arrayContaining(found))
        const changes = differ.map((n) => (world.there[n] ?? 0) - (world.ranges[n]?.rows ?? 0))
        if (changes.every((change) => change < 0) || changes.every((change) => change > 0))
          expect(found.toSorted((a, b) => a - b)).toEqual(differ)
      }),
    )
  })

  it('costs no more than the logarithm of the number of spans for each that it finds', () => {
    fc.assert(
      fc.property(worlds, fc.integer({ min: 1, max: 8 }), (world, rangesMax) => {
        const { requests, found } = searched(world, rangesMax)
        expect(found.length).toBeLessThanOrEqual(rangesMax)
        const most = world.there.filter((rows, n) => rows !== world.ranges[n]?.rows).length
        expect(requests).toBeLessThanOrEqual(most * Math.ceil(Math.log2(world.ranges.length + 1)))
      }),
    )
  })
})

describe('spans of creation', () => {
  const notes = fc.array(
    fc.record({
      since: fc.option(fc.nat(100), { nil: undefined }),
      length: fc.nat(20),
      rows: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength: 40 },
  )

  it('that overlap are one, those that share an edge are not, and no row is lost', () => {
    fc.assert(
      fc.property(notes, (drawn) => {
        const all = drawn.map(({ since, length, rows }) => ({
          since: since as Instant | undefined,
          until: ((since ?? 0) + length) as Instant,
          rows,
        }))
        const ranges = mergedRanges(all)
        expect(sum(ranges.map(({ rows }) => rows))).toBe(sum(all.map(({ rows }) => rows)))
        for (const [n, { since }] of ranges.entries())
          if (n > 0) expect(since).toBeGreaterThanOrEqual(ranges[n - 1]?.until as number)
        for (const note of all) expect(ranges.some((range) => within(note, range))).toBe(true)
      }),
    )
  })
})
