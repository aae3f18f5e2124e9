/**
 * What a run costs that finds nothing new, which most runs do: requests by report, and how often the warehouse is
 * written.
 */
import { describe, expect, it } from 'vitest'
import { reportNames } from '../../schema/index.ts'
import { aTide } from '../support/tide.ts'

/**
 * One request a walk, and a walk for each currency; where rows may never have been modified, one by time of creation
 * beside the one by modification, and one for the total that is compared with the rows held. Audits ask about records that changed: none did. Each window of a currency is its
 * own.
 */
const COST = {
  events: { requests: 1, writes: 1 },
  budgets: { requests: 2, writes: 2 },
  enquiries: { requests: 3, writes: 1 },
  automated_bookings: { requests: 6, writes: 2 },
  office_reservations: { requests: 3, writes: 1 },
  merf_submissions: { requests: 3, writes: 1 },
  audit_entries: { requests: 0, writes: 1 },
  enquiry_audit_entries: { requests: 0, writes: 1 },
} as const

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
    expect(cost).toEqual(COST)
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
