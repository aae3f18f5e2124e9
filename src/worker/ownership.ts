/**
 * Who holds the DuckDB file owns the warehouse: it runs the reports and answers commands. Everybody else with the role
 * `load` stands by and tries the file again every few seconds, so the death of the owner is healed by the next in line.
 */
import { Control } from '../../jobs/control/control.ts'
import { takeRequests } from '../../jobs/control/controlQueue.ts'
import { Crew, type CrewParts } from '../../jobs/queue/crew.ts'
import { Housekeeping } from '../../jobs/owner/housekeeping.ts'
import type { Metrics } from '../../jobs/metrics/metrics.ts'
import { Notifier } from '../../jobs/notify/notifier.ts'
import { Owner } from '../../jobs/owner/owner.ts'
import type { Requests } from '../../jobs/queue/requests.ts'
import { Runs } from '../../jobs/owner/runs.ts'
import type { ReportingClient } from '../client/reporting.ts'
import type { Config } from '../config/config.ts'
import { asSyncError, type ErrorCode } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Secret } from '../secret.ts'
import type { Observe } from '../observe.ts'
import type { RunLogs } from '../runLogs.ts'
import { marksOf, standingsOf } from '../status/standing.ts'

import { bookFigures } from '../warehouse/books/bookFigures.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { listenAt } from './socketServer.ts'
import { socketPathOf } from '../cli/control/socketPath.ts'
import { openWarehouse, settingsOf } from '../wiring/openContext.ts'
import { ownerBackend } from './consoleBackends.ts'
import type { Seat } from './seat.ts'
import { startServing } from './serving.ts'

export interface OwnershipParts extends CrewParts {
  readonly config: Config
  readonly client: ReportingClient
  readonly requests: Requests
  readonly log: Log
  /** For readers of the live server, where there is one. */
  readonly serveToken: Secret | undefined
  readonly metrics: Metrics
  readonly observe: Observe
  /** How often a standby tries the file. */
  readonly standbyMs: number
  /** Told who owns the warehouse; the console asks there. */
  readonly seat: Seat
  /** Where the console of this process listens, once it does. */
  readonly consoleAddress: () => string | undefined
  readonly runLogs: Pick<RunLogs, 'trim'>
  /** Told each time that the warehouse is open here. */
  readonly onOwned: () => void
}

/** What may pass by itself: the owner ends, or space is freed. */
const PASSING: readonly ErrorCode[] = ['WAREHOUSE_LOCKED', 'DISK_FULL']
const INTERRUPT_EVERY_MS = 100
/** Handing back and closing take a second or two. */
const ENDING_MS_MAX = 30_000

/**
 * Owns the warehouse whenever it can, until the signal aborts. Errors: those of opening that don't pass by themselves.
 */
export async function ownOrStandBy(parts: OwnershipParts, signal: AbortSignal): Promise<void> {
  const { log, clock, config, standbyMs } = parts
  let told: string | undefined
  // Once this process has owned it, windows that it pulls may lie in the staging directory.
  let isFirst = true
  while (!signal.aborted) {
    const opened = await opening(parts, isFirst)
    if ('warehouse' in opened) {
      log.info({ path: config.warehouse }, 'this process owns the warehouse')
      told = undefined
      isFirst = false
      parts.onOwned()
      await own(parts, opened.warehouse, signal)
      continue
    }
    if (opened.code !== told) log.info({ code: opened.code }, `standing by: ${opened.message}`)
    told = opened.code
    if (opened.code === 'WAREHOUSE_LOCKED') parts.seat.standBy()
    await clock.sleep(standbyMs, signal).catch(() => undefined)
  }
}

async function opening({ config }: OwnershipParts, isFirst: boolean) {
  try {
    return { warehouse: await openWarehouse(config, isFirst ? {} : { isShared: true }) }
  } catch (thrown) {
    const error = asSyncError(thrown)
    if (PASSING.includes(error.code)) return error
    throw error
  }
}

/** Until the signal aborts, or the warehouse has to be opened anew. */
async function own(parts: OwnershipParts, warehouse: Warehouse, signal: AbortSignal): Promise<void> {
  const { config, client, clock, log, requests, metrics, observe, seat, runLogs, serveToken } = parts
  const ended = Promise.withResolvers<void>()
  const ending = new AbortController()
  const stop = () => ended.resolve()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const crew = new Crew(parts)
  const runs = new Runs()
  const context = { client, warehouse, clock, settings: settingsOf(config), observe }
  using _ = metrics.owns(() => bookFigures(warehouse))
  const { published, historyMs } = config
  let onPublished: (() => Promise<void>) | undefined
  const housekeeping = new Housekeeping({
    context,
    requests,
    log,
    published,
    historyMs,
    runLogs,
    onPublished: async () => onPublished?.(),
  })
  const views = {
    standings: () => standingsOf(warehouse, config),
    marks: async () => [...(await marksOf(warehouse))],
    console: parts.consoleAddress,
  }
  const notifying = notified(parts, { runs, warehouse, signal: ending.signal })
  const control = new Control({ context, requests, runs, housekeeping, views })
  const owner = new Owner({ context, crew, requests, runs, housekeeping, log, onBroken: stop })
  try {
    await using live = await startServing(config, { token: serveToken, log })
    onPublished = live?.onPublished
    await using _socket = await listenAt(socketPathOf(config.warehouse), control)
    owner.start()
    seat.take(ownerBackend({ config, clock, warehouse, control, runs }))
    takeRequests(crew, control)
    await goOnWithBackfills(parts, warehouse)
    await ended.promise
    control.close()
    ending.abort()
    await notifying
    await inTime(parts, stopped(crew, warehouse, parts))
  } finally {
    signal.removeEventListener('abort', stop)
    seat.leave()
    ending.abort()
    await inTime(parts, warehouse.close())
    log.info('the warehouse is closed')
  }
}

/** Tells the webhook, where one is set, until the signal aborts. */
async function notified(
  { config, clock, log, metrics }: OwnershipParts,
  { runs, warehouse, signal }: { runs: Runs; warehouse: Warehouse; signal: AbortSignal },
): Promise<void> {
  const { notify } = config
  if (notify === undefined) return
  const onNotice = (event: string, outcome: string) => metrics.instruments.notices.inc({ event, outcome })
  const books = () => bookFigures(warehouse)
  await new Notifier({ notify, config, books, runs, clock, log, onNotice }).run(signal)
}

/**
 * A process that can't let go of the warehouse would keep every standby from it: then it ends, which frees the file.
 * What was committed is safe, and the jobs are recovered as after any death.
 */
async function inTime({ clock, log }: OwnershipParts, work: Promise<void>): Promise<void> {
  const callOff = clock.after(ENDING_MS_MAX, () => {
    log.error(`the warehouse could not be closed within ${ENDING_MS_MAX / 1_000} s: this process ends, start it again`)
    process.exit(1)
  })
  try {
    await work
  } finally {
    callOff()
  }
}

/** Those whose process ended under them; the queue may have forgotten them. */
async function goOnWithBackfills({ requests, log }: OwnershipParts, warehouse: Warehouse): Promise<void> {
  for (const { backfillId, report, state, since, until } of await warehouse.backfills.open()) {
    if (state !== 'running') continue
    log.info({ backfillId, report }, `${report}: a backfill goes on`)
    await requests.backfill({ backfillId, report, from: since, to: until })
  }
}

/**
 * A statement may run for minutes: it is interrupted, as often as another one follows, until all jobs are handed back.
 */
async function stopped(crew: Crew, warehouse: Warehouse, { clock, log }: OwnershipParts): Promise<void> {
  const startedMs = clock.monotonicMs()
  const done = new AbortController()
  const interrupting = (async () => {
    while (!done.signal.aborted) {
      warehouse.interrupt()
      await clock.sleep(INTERRUPT_EVERY_MS, done.signal).catch(() => undefined)
    }
  })()
  await crew.stop()
  done.abort()
  await interrupting
  log.info({ ms: Math.round(clock.monotonicMs() - startedMs) }, 'jobs were handed back')
}
