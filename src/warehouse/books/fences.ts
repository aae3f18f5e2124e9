/**
 * Fencing: each run of a kind of a report takes the next epoch, and whatever it commits says which one it holds. A run
 * that was frozen or cut off and wakes up after another has begun finds its epoch outdated, in the very transaction
 * that would have written: so two runs of one kind of one report never both commit (product contract §5.6).
 */
import type { ReportName } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import type { RunKind } from './books.ts'
import type { Sql } from '../database/duckdb.ts'

export interface FencePlace {
  readonly report: ReportName
  readonly kind: RunKind
}

/** A run's right to commit, as long as no newer run took one. Plain values: it travels with jobs and manifests. */
export interface Fence extends FencePlace {
  readonly epoch: number
}

export interface FenceRequest extends FencePlace {
  /** Who takes it: a run's identifier. */
  readonly holder: string
}

interface FenceRecord {
  readonly epoch: number
  readonly holder: string
}

/**
 * The fences of one open warehouse. Where only its process writes, it is enough that this process knows who came last;
 * the file learns it with the first transaction of whoever came. So a run that finds nothing new writes once. Beside
 * other loaders every fence is written when it is taken.
 */
export class Fences {
  readonly #newest = new Map<string, FenceRecord>()
  readonly #isAlone: boolean

  constructor({ isAlone = true } = {}) {
    this.#isAlone = isAlone
  }

  /** Gives the next epoch; from now on every older one of that report and kind is refused. */
  async take(sql: Sql, { report, kind, holder }: FenceRequest): Promise<Fence> {
    const held = await heldIn(sql, { report, kind })
    const place = placeOf({ report, kind })
    const epoch = Math.max(held?.epoch ?? 0, this.#newest.get(place)?.epoch ?? 0) + 1
    if (!this.#isAlone || outlivesProcess({ report, kind })) await write(sql, { report, kind, epoch, holder })
    else this.#newest.set(place, { epoch, holder })
    return { report, kind, epoch }
  }

  /** Called in the transaction that is to commit. Error: FENCED when a newer run holds the report. */
  async check(sql: Sql, fence: Fence | undefined): Promise<void> {
    if (fence === undefined) return
    const { report, kind, epoch } = fence
    const held = await heldIn(sql, fence)
    const taken = this.#newest.get(placeOf(fence))
    const newest = taken === undefined || (held !== undefined && held.epoch > taken.epoch) ? held : taken
    if (newest === undefined || newest.epoch > epoch) throw overtaken(fence, newest)
    if (newest === taken && (held?.epoch ?? 0) < epoch) await write(sql, { report, kind, ...newest })
  }
}

const placeOf = ({ report, kind }: FencePlace): string => `${kind} ${report}`

/** Windows of a backfill are pulled by other processes, which go on when this one ends; so does a reconcile. */
const outlivesProcess = ({ kind }: FencePlace): boolean => kind !== 'incremental'

async function heldIn(sql: Sql, { report, kind }: FencePlace): Promise<FenceRecord | undefined> {
  const [held] = await sql.rows<{ epoch: number; holder: string }>(
    'SELECT epoch, holder FROM tidemark.fences WHERE report = $1 AND kind = $2 ORDER BY epoch DESC LIMIT 1',
    [report, kind],
  )
  return held
}

async function write(sql: Sql, { report, kind, epoch, holder }: FencePlace & FenceRecord): Promise<void> {
  await sql.run('DELETE FROM tidemark.fences WHERE report = $1 AND kind = $2', [report, kind])
  await sql.run('INSERT INTO tidemark.fences VALUES ($1, $2, $3, $4, now())', [report, kind, epoch, holder])
}

function overtaken({ report, kind, epoch }: Fence, newest: FenceRecord | undefined): SyncError {
  const by = newest === undefined ? 'nobody holds it' : `${newest.holder} holds it`
  return new SyncError('FENCED', `${report}: this ${kind} run was overtaken by a newer one (${by})`, {
    report,
    cure: 'Nothing is to be done: nothing of the older run was kept, the newer one does the work.',
    data: { kind, epoch, newest: newest?.epoch },
  })
}
