/** What happens to rows that are held already when the configuration starts to ask for more. */
import { describe, expect, it } from 'vitest'
import { parseInstant, type Instant } from '../../src/instant.ts'
import {
  CHANGES,
  changesThatNeedReread,
  parseChanges,
  nextCoverage,
  partsNewestFirst,
  changesText,
} from '../../src/plan/coverage.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import * as fc from 'fast-check'
import { differences } from '../../src/cli/certify/compare.ts'
import { markOf } from '../support/held.ts'
import { aTide, type Tide } from '../support/tide.ts'
import type { ReportName } from '../../schema/index.ts'

const at = (text: string) => parseInstant(text) as Instant

describe('coverage', () => {
  const held = { start: at('2020-01-01'), filters: { companyId: 7 }, expand: ['a', 'b'] }

  it('holds for the same question, for fewer collections and for a later start', () => {
    expect(changesThatNeedReread(held, held)).toEqual([])
    expect(changesThatNeedReread(held, { ...held, expand: ['b'] })).toEqual([])
    expect(changesThatNeedReread(held, { ...held, start: at('2021-01-01') })).toEqual([])
  })

  it('ends with another collection, other filters or an earlier start', () => {
    expect(changesThatNeedReread(held, { ...held, expand: ['a', 'c'] })).toEqual(['expand'])
    expect(changesThatNeedReread(held, { ...held, filters: {} })).toEqual(['filters'])
    expect(changesThatNeedReread(held, { ...held, start: at('2019-12-31') })).toEqual(['start'])
  })

  it('that was narrowed for a while is read again when it is wide again, and says what changed', () => {
    const until = at('2026-01-01')
    const full = { settings: held, refillUntil: undefined, because: [] }
    expect(nextCoverage(full, held, until)).toBe(full)
    const narrow = nextCoverage(full, { ...held, expand: ['a'] }, until)
    expect(narrow).toMatchObject({ settings: { expand: ['a'] }, refillUntil: undefined })
    const wide = nextCoverage(narrow, held, until)
    expect(wide).toEqual({ settings: held, refillUntil: until, because: ['expand'] })
    const wider = nextCoverage(wide, { ...held, start: at('2019-01-01') }, until)
    expect(wider.because).toEqual(['expand', 'start'])
  })

  it('says why in words that the books give back', () => {
    fc.assert(
      fc.property(fc.subarray([...CHANGES]), (changes) => {
        expect(parseChanges(changesText(changes) ?? null)).toEqual(changes)
      }),
    )
    expect(changesText(['expand', 'start'])).toBe('expand and start')
  })

  it('is read again in parts that meet, newest first, from the end to the start', () => {
    const instants = fc.integer({ min: at('2000-01-01'), max: at('2030-01-01') })
    fc.assert(
      fc.property(instants, instants, (a, b) => {
        const [start, until] = [Math.min(a, b), Math.max(a, b)] as [Instant, Instant]
        const parts = partsNewestFirst(start, until)
        expect(parts[0]?.until).toBe(until)
        expect(parts.at(-1)?.since).toBe(start)
        for (const [n, part] of parts.entries()) if (n > 0) expect(part.until).toBe(parts[n - 1]?.since)
      }),
    )
  })
})

/** Another run of the same tide with a report configured otherwise. */
async function syncAs(tide: Tide, report: ReportName, change: Record<string, unknown>): Promise<void> {
  const reports = { ...tide.config.reports, [report]: { ...tide.config.reports[report], ...change } }
  const context = { ...tide.context, settings: { ...tide.context.settings, reports } }
  for (const { error } of await syncAll(context, [report])) if (error !== undefined) throw error
}

describe.each([
  ['events', {}],
  ['enquiries', { tags: 'long' }],
] as const)('%s', (report, options) => {
  it('are read again, whole, when another collection is switched on', options, async () => {
    await using tide = await aTide()
    await syncAs(tide, report, { expand: [] })
    const mark = await markOf(tide, report)
    expect((await differences(tide.warehouse, tide.sandbox.world, { report })).length).toBeGreaterThan(0)
    await tide.sync(report)
    expect(await differences(tide.warehouse, tide.sandbox.world, { report })).toEqual([])
    expect(await markOf(tide, report)).toBeGreaterThanOrEqual(mark as Instant)
    tide.sandbox.requests.clear()
    await tide.sync(report)
    // One of them counts the rows.
    expect(tide.sandbox.requests.total).toBeLessThanOrEqual(3)
  })
})

it('go on being read again where a run was stopped', async () => {
  await using tide = await aTide({ sandbox: { rows: 300 }, settings: { defaults: { page_size: 20 } } })
  await syncAs(tide, 'events', { expand: [] })
  const stop = new AbortController()
  let pages = 0
  const context = {
    ...tide.context,
    signal: stop.signal,
    onProgress: () => {
      pages += 1
      if (pages === 10) stop.abort()
    },
  }
  const [stopped] = await syncAll(context, ['events'])
  expect(stopped?.state).toBe('failed')
  const stored = await tide.warehouse.books.coverage({ report: 'events', scope: '' })
  expect(stored?.refillUntil).toBeDefined()
  await tide.sync('events')
  expect(await tide.warehouse.books.coverage({ report: 'events', scope: '' })).toMatchObject({ refillUntil: undefined })
  expect(await differences(tide.warehouse, tide.sandbox.world, { report: 'events' })).toEqual([])
})
