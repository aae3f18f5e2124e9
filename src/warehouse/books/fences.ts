/** Fences: only the newest run of a report and kind can commit (product contract §5.6). */
import type { ReportName } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import type { RunKind } from './runs.ts'
import type { Database } from '../database/duckdb.ts'
import { onlyRow, type Sql, text } from '../database/sql.ts'

interface FencePlace {
  readonly report: ReportName
  readonly kind: RunKind
}

/** A run's right to commit, until a newer run begins. */
export interface Fence extends FencePlace {
  readonly epoch: number
}

export interface WithFence {
  readonly fence?: Fence | undefined
}

export interface FenceRequest extends FencePlace {
  readonly holder: string
}

interface FenceRecord {
  readonly epoch: number
  readonly holder: string
}

export class Fences {
  readonly #newest = new Map<string, FenceRecord>()
  readonly #isAlone: boolean

  constructor({ isAlone = true } = {}) {
    this.#isAlone = isAlone
  }

  /** Returns a new fence. Earlier runs of this report and kind can no longer commit. */
  async take(sql: Sql, { report, kind, holder }: FenceRequest): Promise<Fence> {
    const place = placeOf({ report, kind })
    // `#newest` has entries only if no other process writes, so they are newer than stored fences.
    const stored = this.#newest.has(place) ? undefined : await readNewest(sql, { report, kind })
    const epoch = Math.max(stored?.epoch ?? 0, this.#newest.get(place)?.epoch ?? 0) + 1
    // Stores the fence now if another process may commit, or may later continue this backfill or reconcile.
    if (!this.#isAlone || kind !== 'incremental') await write(sql, { report, kind, epoch, holder })
    // `check` stores the fence in the run's first commit, which saves a transaction.
    else this.#newest.set(place, { epoch, holder })
    return { report, kind, epoch }
  }

  /** Returns whether the fence is certainly the newest, without reading the warehouse. */
  isNewest(fence: Fence | undefined): boolean {
    return fence !== undefined && this.#newest.get(placeOf(fence))?.epoch === fence.epoch
  }

  transact<T>(database: Database, fence: Fence | undefined, work: (sql: Sql) => Promise<T>): Promise<T> {
    return database.transaction(async (sql) => {
      await this.check(sql, fence)
      return work(sql)
    })
  }

  /** Throws FENCED if a newer run of the report has begun. Call this in the committing transaction. */
  async check(sql: Sql, fence: Fence | undefined): Promise<void> {
    if (fence === undefined) return
    const { report, kind, epoch } = fence
    const taken = this.#newest.get(placeOf(fence))
    // The run's first commit replaces the stored fence of the previous run.
    if (taken?.epoch === epoch && (await advance(sql, fence, taken))) return
    const stored = await readNewest(sql, fence)
    const newest = taken === undefined || (stored !== undefined && stored.epoch > taken.epoch) ? stored : taken
    if (newest === undefined || newest.epoch > epoch) {
      const what = `${report}: this ${kind} run was stopped by a newer one (${newest?.holder ?? 'unknown'})`
      const cure = 'Nothing needs to be done: the older run did not commit these rows, and the newer run reads them.'
      throw new SyncError('FENCED', what, { report, cure, data: { kind, epoch, newest: newest?.epoch } })
    }
    if (newest === taken && (stored?.epoch ?? 0) < epoch) await write(sql, { report, kind, ...newest })
  }
}

const placeOf = ({ report, kind }: FencePlace): string => `${kind} ${report}`

const placeCondition = ({ report, kind }: FencePlace): string => `report = ${text(report)} AND kind = ${text(kind)}`

async function readNewest(sql: Sql, place: FencePlace): Promise<FenceRecord | undefined> {
  const [stored] = await sql.cachedRows<FenceRecord>(`
    SELECT epoch, holder FROM tidemark.fences WHERE ${placeCondition(place)} ORDER BY epoch DESC LIMIT 1`)
  return stored
}

async function write(sql: Sql, { epoch, holder, ...place }: FencePlace & FenceRecord): Promise<void> {
  await sql.run(`
    DELETE FROM tidemark.fences WHERE ${placeCondition(place)};
    INSERT INTO tidemark.fences VALUES (${text(place.report)}, ${text(place.kind)}, ${epoch}, ${text(holder)}, now())`)
}

async function advance(sql: Sql, place: FencePlace, { epoch, holder }: FenceRecord): Promise<boolean> {
  const updated = await onlyRow<{ Count: number }>(
    sql,
    `UPDATE tidemark.fences SET epoch = ${epoch}, holder = ${text(holder)}, taken_at = now() WHERE ${placeCondition(place)} AND epoch < ${epoch}`,
  )
  return updated.Count === 1
}
