/**
 * Services that give other page sizes than they are asked for, where no total tells (product contract §5.4): whatever
 * a first page looks like, the rows behind it arrive.
 */
import { describe, expect, it } from 'vitest'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { bodiesOf, differencesOf, stampAlike } from './stories.ts'

const ARRAYS = ['events', 'budgets'] as const

const aLeanTide = (rows: number, page_size: number, faults: string[] = []): Promise<Tide> =>
  aTide({
    sandbox: { rows, collections: false, faults },
    settings: { currencies: ['EUR'], defaults: { page_size } },
  })

/** Edits so many rows, so that the next window holds them. */
function edit(tide: Tide, report: WorldReport, rows: number): void {
  const { world } = tide.sandbox
  for (const key of world.liveKeys(report).slice(0, rows)) world.edit(report, key)
}

const asked = (tide: Tide, report: WorldReport): number =>
  bodiesOf(tide, report).filter(({ includeDeleted }) => includeDeleted !== false).length

describe.each(ARRAYS)('%s, from a service that raises the page size', (report) => {
  it.each([20, 50, 100])(
    'arrive whole where old rows fill several pages (%i rows a page for 20)',
    { tags: 'long' },
    async (size) => {
      await using tide = await aLeanTide(243, 20, [`raise:${size}`])
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
    },
  )

  it('arrive whole where new rows fill several pages, and where they stand at one instant', {
    tags: 'long',
  }, async () => {
    await using tide = await aLeanTide(243, 20, ['raise:50'])
    edit(tide, report, 130)
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
    edit(tide, report, 130)
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
    edit(tide, report, 120)
    stampAlike(tide, report, tide.sandbox.world.liveKeys(report).slice(0, 120))
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
  })

  it('arrive whole after it goes back to the size that is asked for', { tags: 'long' }, async () => {
    await using tide = await aLeanTide(243, 20, ['raise:50'])
    await tide.sync(report)
    tide.sandbox.setFaults([])
    edit(tide, report, 45)
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
  })
})

it.each(['', 'unordered'])(
  'a service that does not page at all is asked for one page more and for narrower spans each time (%s)',
  { tags: 'long' },
  async (order) => {
    await using tide = await aLeanTide(243, 20, ['raise:10000', 'ignore-page', ...(order === '' ? [] : [order])])
    await tide.sync('events')
    expect(await differencesOf(tide, 'events')).toEqual([])
    // An old part and a young one, which is empty, and what tells that page numbers don't count and no row is hidden.
    expect(asked(tide, 'events')).toBeLessThanOrEqual(9)
    edit(tide, 'events', 45)
    tide.sandbox.requests.clear()
    await tide.sync('events')
    expect(await differencesOf(tide, 'events')).toEqual([])
    // Page 1, page 2, and page 1 of each narrower span: two spans, or four if the edits fall into two milliseconds.
    expect([4, 6]).toContain(asked(tide, 'events'))
    const proofs = await tide.warehouse.rows('SELECT DISTINCT proof FROM tidemark.windows')
    expect(proofs).toEqual([{ proof: 'single' }])
  },
)

describe.each(ARRAYS)('%s, from a service that lowers its clamp', (report) => {
  it.each([50, 25])(
    'arrive whole although longer pages are remembered (%i rows a page, 100 before)',
    { tags: 'long' },
    async (clamp) => {
      await using tide = await aLeanTide(450, 500, ['clamp-silent:100'])
      await tide.sync(report)
      tide.sandbox.setFaults([`clamp-silent:${clamp}`])
      for (let run = 0; run < 2; run += 1) {
        edit(tide, report, 120)
        await tide.sync(report)
        expect(await differencesOf(tide, report)).toEqual([])
      }
      const sizes = await tide.warehouse.rows('SELECT full_min, seen_max FROM tidemark.page_sizes')
      expect(sizes).toEqual([{ full_min: clamp, seen_max: clamp }])
    },
  )

  it('arrive whole where it begins within what was taken for the last page', { tags: 'long' }, async () => {
    await using tide = await aLeanTide(90, 500)
    await tide.sync(report)
    tide.sandbox.setFaults(['clamp-silent:40'])
    edit(tide, report, 60)
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
  })

  it('are looked for behind one page of a run at most where none is longer, and behind none that is short', {
    tags: 'long',
  }, async () => {
    await using tide = await aLeanTide(450, 500, ['clamp-silent:100', 'beyond'])
    await tide.sync(report)
    edit(tide, report, 12)
    tide.sandbox.requests.clear()
    await tide.sync(report)
    expect(asked(tide, report)).toBe(1)
    edit(tide, report, 60)
    tide.sandbox.requests.clear()
    await tide.sync(report)
    expect(asked(tide, report)).toBe(2)
    expect(await differencesOf(tide, report)).toEqual([])
  })
})
