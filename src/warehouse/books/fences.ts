/** A run commits only while its number (epoch) is the newest of its report and kind (product contract §5.6). */
import type { ReportName } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import type { RunKind } from './books.ts'
import type { Database } from '../database/duckdb.ts'
import { onlyRow, type Sql, text } from '../database/sql.ts'

interface FencePlace {
  readonly report: ReportName
  readonly kind: RunKind
}

/** A run's right to commit. It ends when a newer run of the same report and kind begins. */
export interface Fence extends FencePlace {
  readonly epoch: number
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

  /** Returns a fence with the next epoch. Runs with an older fence of this report and kind can no longer commit. */
  async take(sql: Sql, { report, kind, holder }: FenceRequest): Promise<Fence> {
    const place = placeOf({ report, kind })
    // `#newest` has entries only if this process writes alone. The stored epoch is then never newer than the entry.
    const stored = this.#newest.has(place) ? undefined : await readNewest(sql, { report, kind })
    const epoch = Math.max(stored?.epoch ?? 0, this.#newest.get(place)?.epoch ?? 0) + 1
    // Backfills and reconciles can be continued by another process, so their fences are stored immediately.
    if (!this.#isAlone || kind !== 'incremental') await write(sql, { report, kind, epoch, holder })
    // To avoid an extra transaction, `check` stores the fence of an incremental run in the run's first transaction.
    else this.#newest.set(place, { epoch, holder })
    return { report, kind, epoch }
  }

  /** Returns whether the fence is certainly the newest. Always false for backfills, and if several processes write. */
  isNewest(fence: Fence | undefined): boolean {
    return fence !== undefined && this.#newest.get(placeOf(fence))?.epoch === fence.epoch
  }

  /** Runs `work` in a transaction that checks `fence` first. Without a fence, nothing is checked. Throws FENCED. */
  transact<T>(database: Database, fence: Fence | undefined, work: (sql: Sql) => Promise<T>): Promise<T> {
    return database.transaction(async (sql) => {
      await this.check(sql, fence)
      return work(sql)
    })
  }

  /** Throws FENCED if a newer run of this report and kind has a fence. Call this in the committing transaction. */
  async check(sql: Sql, fence: Fence | undefined): Promise<void> {
    if (fence === undefined) return
    const { report, kind, epoch } = fence
    const taken = this.#newest.get(placeOf(fence))
    // The first commit of a run replaces the stored fence of the previous run, in one statement.
    if (taken?.epoch === epoch && (await advance(sql, fence, taken))) return
    const stored = await readNewest(sql, fence)
    const newest = taken === undefined || (stored !== undefined && stored.epoch > taken.epoch) ? stored : taken
    if (newest === undefined || newest.epoch > epoch)
      throw new SyncError(
        'FENCED',
        `${report}: this ${kind} run was stopped by a newer one (${newest?.holder ?? 'unknown'})`,
        {
          report,
          cure: 'Nothing needs to be done: the older run did not commit these rows, and the newer run reads them.',
          data: { kind, epoch, newest: newest?.epoch },
        },
      )
    if (newest === taken && (stored?.epoch ?? 0) < epoch) await write(sql, { report, kind, ...newest })
  }
}

const placeOf = ({ report, kind }: FencePlace): string => `${kind} ${report}`

const placeSql = ({ report, kind }: FencePlace): string => `report = ${text(report)} AND kind = ${text(kind)}`

async function readNewest(sql: Sql, place: FencePlace): Promise<FenceRecord | undefined> {
  const [stored] = await sql.cachedRows<FenceRecord>(`
    SELECT epoch, holder FROM tidemark.fences WHERE ${placeSql(place)} ORDER BY epoch DESC LIMIT 1`)
  return stored
}

async function write(sql: Sql, { epoch, holder, ...place }: FencePlace & FenceRecord): Promise<void> {
  await sql.run(`
    DELETE FROM tidemark.fences WHERE ${placeSql(place)};
    INSERT INTO tidemark.fences VALUES (${text(place.report)}, ${text(place.kind)}, ${epoch}, ${text(holder)}, now())`)
}

/** Replaces the stored fence if that fence has an older epoch. Returns false if nothing was replaced. */
async function advance(sql: Sql, place: FencePlace, { epoch, holder }: FenceRecord): Promise<boolean> {
  const updated = await onlyRow<{ Count: number }>(
    sql,
    `UPDATE tidemark.fences SET epoch = ${epoch}, holder = ${text(holder)}, taken_at = now() WHERE ${placeSql(place)} AND epoch < ${epoch}`,
  )
  return updated.Count === 1
}
