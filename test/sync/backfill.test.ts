/**
 * Backfills over real HTTP into a real warehouse: a range read again in windows is equal to the service, moves no mark,
 * goes on where it stopped, and says what is missing.
 */
import { describe, expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { fromMillis, type Instant } from '../../src/instant.ts'
import { type BackfillOptions, type BackfillProgress, backfillReport } from '../../src/sync/backfill/backfill.ts'
import { pullHere } from '../../src/sync/backfill/handover.ts'
import { markOf } from '../support/held.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { at } from '../support/warehouse.ts'
import { differencesButAbsence, WORLD_REPORTS } from './stories.ts'

const FROM = at('2000-01-01T00:00:00Z')
const now = (): Instant => fromMillis(Date.now())

const optionsFor = ({ context }: Pick<Tide, 'context'>, report: ReportName, given: Partial<BackfillOptions> = {}) => ({
  backfillId: 'backfill-1',
  report,
  from: FROM,
  to: now(),
  lanes: 3,
  pull: pullHere(context),
  ...given,
})

const windowsOf = (tide: Tide, id = 'backfill-1') => tide.warehouse.backfills.windows(id)

it('a backfill before the first sync leaves one version of each row, though columns are hashed', {
  tags: 'long',
}, async () => {
  const settings = { history: true, columns: { booker_email: 'hash' } }
  await using tide = await aTide({
    sandbox: { rows: 40 },
    settings: { defaults: { page_size: 10 }, reports: { office_reservations: settings } },
    env: { TIDEMARK_HASH_KEY: '0123456789abcdef0123456789abcdef' },
  })
  await backfillReport(tide.context, optionsFor(tide, 'office_reservations'))
  await tide.sync('office_reservations')
  const [held] = await tide.warehouse.rows<{ n: number }>('SELECT count(*) AS n FROM main.office_reservations')
  const versions = await tide.warehouse.rows<{ n: number; keys: number }>(
    'SELECT count(*) AS n, count(DISTINCT office_reservation_id) AS keys FROM history.office_reservations',
  )
  expect(versions).toEqual([{ n: held?.n, keys: held?.n }])
})

/** Kinds of answers: a bare array, one for each currency, an envelope. Other reports are read like these. */
const KINDS: readonly ReportName[] = ['events', 'budgets', 'enquiries']

describe.each(WORLD_REPORTS)('a backfill of %s', (report) => {
  const length = KINDS.includes(report) ? {} : { tags: 'long' }

  it('over the whole range equals the service, in windows with a proof each, and moves no mark', length, async () => {
    await using tide = await aTide({ sandbox: { rows: 120 }, settings: { defaults: { page_size: 10 } } })
    const told: BackfillProgress[] = []
    const options = optionsFor(tide, report, { onProgress: (progress) => void told.push(progress) })
    const outcome = await backfillReport(tide.context, options)
    expect(outcome).toMatchObject({ state: 'done', failures: [] })
    expect(await differencesButAbsence(tide, report)).toEqual([])
    const { backfills } = tide.warehouse
    expect(await backfills.book('backfill-1')).toMatchObject({ state: 'done', windows: outcome.figures.windows })
    const windows = await windowsOf(tide)
    expect(windows.length, 'windows').toBeGreaterThan(1)
    expect(windows.map(({ state }) => state)).toEqual(windows.map(() => 'done'))
    const proofs = await tide.warehouse.rows<{ n: number; marks: number }>(
      `SELECT count(*) AS n, count(proof) AS marks FROM tidemark.windows WHERE report = '${report}'`,
    )
    expect(proofs[0]?.n).toBeGreaterThanOrEqual(windows.length)
    for (const scope of ['', 'EUR', 'USD']) expect(await markOf(tide, report, scope)).toBeUndefined()
    expect(told.at(-1)).toMatchObject({ windows: { total: windows.length, done: windows.length, failed: 0 } })
    const runs = await tide.warehouse.rows(`SELECT kind, state, rows FROM tidemark.runs WHERE run_id = 'backfill-1'`)
    expect(runs).toEqual([{ kind: 'backfill', state: 'done', rows: outcome.figures.rows }])
  })

  it('after a sync brings nothing new and leaves the mark where it was', { tags: 'long' }, async () => {
    await using tide = await aTide({ sandbox: { rows: 60 }, settings: { defaults: { page_size: 20 } } })
    await tide.sync(report)
    const marks = () => tide.warehouse.rows(`SELECT scope, mark, value FROM tidemark.marks ORDER BY ALL`)
    const before = await marks()
    const { figures } = await backfillReport(tide.context, optionsFor(tide, report))
    expect(figures).toMatchObject({ inserted: 0, updated: 0, deleted: 0, failed: 0 })
    expect(figures.rows).toBeGreaterThan(0)
    expect(await marks()).toEqual(before)
  })
})
