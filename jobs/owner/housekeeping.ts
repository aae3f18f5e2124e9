/** The owner's regular work: publications, checkpoints and the removal of old data. */
import { HOUR_MS, minusMs } from '../../src/instant.ts'
import type { Log } from '../../src/log.ts'
import { unobserved } from '../../src/observe.ts'
import type { RunLogs } from '../../src/runLogs.ts'
import { removeStaleStaging } from '../../src/sync/staleStaging.ts'
import type { SharedContext } from '../../src/sync/context.ts'
import { type HousekeepingJob, QUEUES } from '../queue/queues.ts'
import type { JobQueues } from '../queue/jobQueues.ts'

export interface HousekeepingOptions {
  readonly context: SharedContext
  readonly queues: JobQueues
  readonly log: Log
  readonly published: string
  readonly historyMs: number
  /** How long a lake keeps old snapshots, in milliseconds. Undefined for a warehouse that is not a lake. */
  readonly snapshotsMs?: number | undefined
  /** Called after a publication. `replaced` is false if the published copy was already up to date. Must not throw. */
  readonly onPublished?: ((done: { readonly replaced: boolean }) => Promise<void>) | undefined
  readonly runLogs?: Pick<RunLogs, 'trim'>
}

const JOBS_KEPT_MS = { completed: HOUR_MS, failed: 7 * 24 * HOUR_MS }
const JOBS_REMOVED_MAX = 10_000
/** The age at which staged files are deleted. A window whose files were deleted is read from the service again. */
const STAGED_KEPT_MS = 24 * HOUR_MS

/** The pause after a publication, as a multiple of its duration. Without it, a worker could publish all the time. */
const PUBLISH_REST = 3

/** If runs moved marks but changed no rows, the warehouse is published at most once in this time. */
const MARKS_AGAIN_MS = 50_000

export class Housekeeping {
  readonly #options: HousekeepingOptions
  #marksRequestedMs = -Infinity
  #publishedMs = -Infinity
  #publishTookMs = 0

  constructor(options: HousekeepingOptions) {
    this.#options = options
  }

  async do(work: HousekeepingJob['work'], signal: AbortSignal): Promise<unknown> {
    const { clock, warehouse } = this.#options.context
    if (work === 'checkpoint') return warehouse.checkpoint()
    if (work === 'retention') return this.#retention(signal)
    const restMs = this.#publishedMs + PUBLISH_REST * this.#publishTookMs - clock.monotonicMs()
    if (restMs > 0) await clock.sleep(restMs, signal)
    return this.publish()
  }

  async requestPublication(changed: 'rows' | 'marks'): Promise<void> {
    const nowMs = this.#options.context.clock.monotonicMs()
    const isRequested = this.#marksRequestedMs > this.#publishedMs && nowMs < this.#marksRequestedMs + MARKS_AGAIN_MS
    if (changed === 'marks' && isRequested) return
    await this.#options.queues.addPublication(changed)
    if (changed === 'marks') this.#marksRequestedMs = nowMs
  }

  async publish() {
    const { context, published, log } = this.#options
    const { clock, observe = unobserved } = context
    const startedMs = clock.monotonicMs()
    const result = await observe({ what: 'publish' }, async (note) => {
      const done = await context.warehouse.publish(published)
      note({ replaced: done.replaced })
      return done
    })
    this.#publishedMs = clock.monotonicMs()
    if (result.replaced) {
      this.#publishTookMs = this.#publishedMs - startedMs
      log.info({ path: published, ms: Math.round(this.#publishTookMs), ...result.copied }, 'published')
    }
    await this.#options.onPublished?.(result)
    return result
  }

  async #retention(signal: AbortSignal): Promise<object> {
    const { context, queues, log, historyMs, snapshotsMs } = this.#options
    let jobs = 0
    for (const name of QUEUES) {
      for (const [state, keptMs] of Object.entries(JOBS_KEPT_MS) as ['completed' | 'failed', number][])
        jobs += (await queues.queue(name).clean(keptMs, JOBS_REMOVED_MAX, state)).length
    }
    const staged = await removeStaleStaging(context.settings.staging, context.clock.now(), STAGED_KEPT_MS)
    const before = minusMs(context.clock.now(), historyMs)
    const books = await context.warehouse.trimBooks(before)
    const runLogs = (await this.#options.runLogs?.trim(before)) ?? 0
    const orphans = await context.warehouse.removeOrphans()
    const removed = { jobs, staged: staged.length, runLogs, orphans, ...books }
    log.info(removed, 'removed old jobs, staged files, run logs, book entries and files of aborted loads')
    const upkeep = snapshotsMs && (await context.warehouse.upkeep({ clock: context.clock, snapshotsMs, signal }))
    if (upkeep) log[upkeep.failed.length === 0 ? 'info' : 'warn'](upkeep, 'the upkeep of the lake has ended')
    return removed
  }
}
