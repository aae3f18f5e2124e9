/**
 * A tide whose runs a notifier follows, and whose messages go to a real receiver. The desk takes the jobs that the
 * notifier requests, and tries a failed one again, as the queue does (test/jobs runs both with a real queue).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Deliveries } from '../../jobs/notify/deliveries.ts'
import { openNoticeBook } from '../../jobs/notify/memory.ts'
import { Notifier } from '../../jobs/notify/notifier.ts'
import { type RunKind, Runs } from '../../jobs/runs/runs.ts'
import type { ReportName } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import type { Config } from '../../src/config/config.ts'
import type { SyncError } from '../../src/errors.ts'
import { createLog } from '../../src/log.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { bookFigures } from '../../src/warehouse/books/bookFigures.ts'
import { readNewData } from '../../src/wiring/published.ts'
import { aTideWithoutCollections as aTide, type Tide, type TideOptions } from '../support/tide.ts'
import { aReceiver, type Receiver, SIGNING_SECRET } from './receiver.ts'

const TIMES = { checkMs: 40, lagGraceMs: 0 }
const RETRY_MS = 20

export interface Desk extends AsyncDisposable {
  readonly tide: Tide
  /** The receiver of `notify.webhook`, or with `data` the receiver of `notify.data.pipeline`. */
  readonly receiver: Receiver
  readonly log: string[]
  /** What the metrics count, as `event outcome`. */
  readonly counted: string[]
  /** Starts a notifier with the stored state; the returned function stops it. */
  readonly start: (clock?: typeof systemClock, config?: Config) => Promise<() => Promise<void>>
  /** One try of a run, which the notifier sees as in a worker. */
  readonly run: (report: ReportName, kind?: RunKind, error?: SyncError) => Promise<void>
  /** Publishes, and calls the notifier if one runs. */
  readonly publish: () => Promise<void>
}

/** The service has empty collections, unless `sandbox.collections` is true. */
export interface DeskOptions extends TideOptions {
  readonly takes?: 'notices' | 'data'
  /** The section `notify.data`, if it is not only the receiver `pipeline`. */
  readonly receivers?: (url: string) => object
}

export async function aDesk({ takes = 'notices', receivers, ...options }: DeskOptions = {}): Promise<Desk> {
  const receiver = await aReceiver()
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-desk-'))
  const data = receivers?.(receiver.url) ?? { pipeline: { webhook: receiver.url } }
  const notify = takes === 'data' ? { data } : { webhook: receiver.url, lag: '1h' }
  const settings = { published: path.join(folder, 'published.duckdb'), notify, ...options.settings }
  const env = { TIDEMARK_NOTIFY_SECRET: SIGNING_SECRET, TIDEMARK_NOTIFY_PIPELINE_SECRET: SIGNING_SECRET }
  const tide = await aTide({ ...options, settings, env: { ...env, ...options.env } })
  const runs = new Runs()
  const log: string[] = []
  const counted: string[] = []
  let current: Notifier | undefined
  const start = async (clock = systemClock, config = tide.config) => {
    const ending = new AbortController()
    const written = createLog({ level: 'trace', destination: { write: (line) => log.push(line) } })
    for (const { secret } of config.notify?.receivers ?? []) written.guard(secret)
    const book = await openNoticeBook(config.warehouse)
    let queue: ReturnType<typeof aQueue> | undefined
    const notifier = new Notifier({
      config,
      book,
      runs,
      clock,
      log: written,
      books: () => bookFigures(tide.warehouse, config),
      readNewData: (since) => readNewData(config, tide.warehouse, since),
      onMessage: (event, outcome) => counted.push(`${event} ${outcome}`),
      requestDelivery: async (name) => queue?.request(name),
      times: TIMES,
    })
    queue = aQueue(notifier.deliveries, ending.signal)
    current = notifier
    const ended = current.run(ending.signal)
    return async () => {
      ending.abort()
      await ended
      await queue?.ended()
    }
  }
  return {
    tide,
    receiver,
    log,
    counted,
    start,
    run: async (report, kind = 'incremental', error) => {
      const place = { runId: 'r', report, kind, startedAt: systemClock.now(), cancel: () => undefined }
      await runs.during(place, async () => {
        const [outcome] = await syncAll(tide.context, [report])
        if (outcome === undefined) throw new TypeError('no outcome')
        return { outcome: error === undefined ? outcome : { ...outcome, state: 'failed', error } }
      })
    },
    publish: async () => {
      await tide.warehouse.publish(tide.config.published)
      current?.setDue('data')
    },
    [Symbol.asyncDispose]: async () => {
      await receiver[Symbol.asyncDispose]()
      await tide[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** One job at a time for each receiver; a failed one is tried again. */
function aQueue(deliveries: Deliveries, signal: AbortSignal) {
  const active = new Map<string, Promise<void>>()
  const waiting = new Set<string>()
  const work = async (name: string): Promise<void> => {
    while (waiting.delete(name) && !signal.aborted) {
      await deliveries.deliver(name, signal).catch(async () => {
        waiting.add(name)
        await systemClock.sleep(RETRY_MS)
      })
    }
    active.delete(name)
  }
  return {
    request: (name: string) => {
      waiting.add(name)
      if (!active.has(name)) active.set(name, work(name))
    },
    ended: async () => {
      await Promise.all(active.values())
    },
  }
}
