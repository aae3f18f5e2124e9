/**
 * Fencing: each run of a kind of a report takes the next epoch, and whatever it commits says which one it holds. A run
 * that was frozen or cut off and wakes up after another has begun finds its epoch outdated, in the very transaction that
 * would have written: so two runs of one kind of one report never both commit (product contract §5.6).
 */
import type { ReportName } from '../../schema/index.ts'
import { SyncError } from '../errors.ts'
import type { RunKind } from './books.ts'
import type { Sql } from './duckdb.ts'

export interface FencePlace {
  readonly report: ReportName
  readonly kind: RunKind
}

/** A run's right to commit, as long as no newer run took one. Plain values: it travels with jobs and manifests. */
export interface Fence extends FencePlace {
  readonly epoch: number
}

export interface FenceAsk extends FencePlace {
  /** Who takes it: a run's identifier. */
  readonly holder: string
}

/** Gives the next epoch; from now on every older one of that report and kind is refused. */
export async function takeFence(sql: Sql, { report, kind, holder }: FenceAsk): Promise<Fence> {
  const [held] = await sql.rows<{ epoch: number }>(
    'SELECT max(epoch) AS epoch FROM tidemark.fences WHERE report = $1 AND kind = $2',
    [report, kind],
  )
  const epoch = (held?.epoch ?? 0) + 1
  await sql.run('DELETE FROM tidemark.fences WHERE report = $1 AND kind = $2', [report, kind])
  await sql.run('INSERT INTO tidemark.fences VALUES ($1, $2, $3, $4, now())', [report, kind, epoch, holder])
  return { report, kind, epoch }
}

/** Called in the transaction that is to commit. Error: FENCED when a newer run holds the report. */
export async function checkFence(sql: Sql, fence: Fence | undefined): Promise<void> {
  if (fence === undefined) return
  const { report, kind, epoch } = fence
  const [held] = await sql.rows<{ epoch: number; holder: string }>(
    'SELECT epoch, holder FROM tidemark.fences WHERE report = $1 AND kind = $2',
    [report, kind],
  )
  if (held !== undefined && held.epoch <= epoch) return
  const by = held === undefined ? 'nobody holds it' : `${held.holder} holds it`
  throw new SyncError('FENCED', `${report}: this ${kind} run was overtaken by a newer one (${by})`, {
    report,
    cure: 'Nothing is to be done: nothing of the older run was kept, the newer one does the work.',
    data: { kind, epoch, newest: held?.epoch },
  })
}
