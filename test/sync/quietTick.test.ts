/**
 * What a run costs that finds nothing new, which most runs do: requests by report, and how often the warehouse is
 * written.
 */
import { describe, expect, it } from 'vitest'
import { reportNames, reports } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { aTide } from '../support/tide.ts'

/**
 * Returns the requests and writes of a run of the report that finds nothing new. Each currency has its own window: one
 * request by modification. Where rows may never have been modified, there is also one by time of creation, and one for
 * the total that is compared with the rows held. Audits read the trails of records that changed: none did.
 */
function costOf({ perRecord, created, currency }: Declaration): { requests: number; writes: number } {
  const currencies = currency === undefined ? 1 : CURRENCIES.length
  const each = perRecord !== undefined ? 0 : created === undefined ? 1 : 3
  return { requests: each * currencies, writes: currencies }
}

const CURRENCIES = ['EUR', 'USD']

describe('a run that finds nothing new', () => {
  it('asks once for each walk that its report needs, and writes once for each currency', async () => {
    let writes = 0
    await using tide = await aTide({
      onWrite: () => {
        writes += 1
      },
    })
    await tide.sync()
    await tide.sync()
    const cost: Record<string, { requests: number; writes: number }> = {}
    for (const report of reportNames) {
      writes = 0
      const before = tide.client.counters.requests
      await tide.sync(report)
      cost[report] = { requests: tide.client.counters.requests - before, writes }
    }
    expect(cost).toEqual(Object.fromEntries(reports.map((report) => [report.name, costOf(report)])))
  })

  it('is in the books with its fence, as if it had been written from its start', { tags: 'long' }, async () => {
    await using tide = await aTide()
    await tide.sync('events')
    const [outcome] = await tide.sync('events')
    const fences = await tide.warehouse.rows('SELECT kind, epoch, holder FROM tidemark.fences')
    expect(fences).toEqual([{ kind: 'incremental', epoch: 2, holder: outcome?.runId }])
    const runs = await tide.warehouse.rows('SELECT run_id, state FROM tidemark.runs ORDER BY started_at')
    expect(runs.at(-1)).toEqual({ run_id: outcome?.runId, state: 'done' })
  })
})

describe('a run that loads more than once', () => {
  it('is shown as running from its first load on', { tags: 'long' }, async () => {
    const states: unknown[] = []
    const settings = { limits: { load_rows_max: 10 }, defaults: { page_size: 10 } }
    await using tide = await aTide({ settings })
    const load = tide.warehouse.load.bind(tide.warehouse)
    const look = 'SELECT string_agg(state) AS states FROM tidemark.runs'
    tide.warehouse.load = async (input) => {
      const result = await load(input)
      states.push((await tide.warehouse.rows<{ states: string }>(look))[0]?.states)
      return result
    }
    await tide.sync('events')
    expect(states.length).toBeGreaterThan(1)
    expect(states).toEqual([...states.slice(1).map(() => 'running'), 'done'])
  })
})
