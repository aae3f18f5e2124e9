/** What the warehouse's owner does between opening and closing the file. */
import type { Metrics } from '../../jobs/metrics/metrics.ts'
import { openNoticeBook } from '../../jobs/notify/memory.ts'
import { Notifier } from '../../jobs/notify/notifier.ts'
import { Housekeeping } from '../../jobs/owner/housekeeping.ts'
import { Owner, type OwnerOptions } from '../../jobs/owner/owner.ts'
import { shareRuns } from '../../jobs/owner/sharedRuns.ts'
import { JobConsumers, type ConsumersOptions, type Task } from '../../jobs/queue/consumers.ts'
import type { LeaseRequest } from '../../jobs/stores/sharedTokens.ts'
import { LOCKS } from '../../jobs/stores/store.ts'
import { NoticesJob } from '../../jobs/queue/queues.ts'
import type { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { Runs } from '../../jobs/runs/runs.ts'
import type { ReportingClient } from '../client/reporting.ts'
import { repeat } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Observe } from '../observe.ts'
import { consumeRequests } from '../operations/queue.ts'
import { listenAt, socketPathOf } from '../operations/socket.ts'
import { workerOperations } from '../operations/workerOperations.ts'
import type { RunLogs } from '../runLogs.ts'
import type { Secret } from '../secret.ts'
import { standingsOf } from '../status/standing.ts'
import { bookFigures } from '../warehouse/books/bookFigures.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { settingsOf, openWarehouse, sharesQueue } from '../wiring/openContext.ts'
import { readNewData } from '../wiring/published.ts'
import { ownerBackend } from './consoleBackends.ts'
import type { WarehouseOwnership } from './readiness.ts'
import { startServing } from './serving.ts'
import { asSyncError, type ErrorCode, SyncError } from '../errors.ts'
import { onAbort } from '../signals.ts'

interface OwnerWiring extends ConsumersOptions {
  readonly config: Config
  readonly client: ReportingClient
  readonly queues: JobQueues
  readonly metrics: Metrics
  readonly observe: Observe
  readonly ownership: WarehouseOwnership
  readonly runLogs: Pick<RunLogs, 'trim'>
  readonly serveToken: Secret | undefined
  readonly consoleAddress: () => string | undefined
  readonly openRetryMs: number
  readonly onOwned: () => void
}

async function runAsOwner(context: OwnerWiring, warehouse: Warehouse, signal: AbortSignal): Promise<void> {
  const { config, client, clock, log, queues, store, locks, metrics, observe, ownership, runLogs } = context
  const consumers = new JobConsumers(context)
  const runs = new Runs()
  const runContext = { client, warehouse, clock, settings: settingsOf(config), observe }
  const shared = { context: runContext, queues, log, runs, consumers }
  const { published, historyMs, lake } = config
  const ending = new AbortController()
  const ended = Promise.withResolvers<void>()
  const end = () => ended.resolve()
  using _stopping = onAbort(signal, end)
  using _ = metrics.watchBooks(() => bookFigures(warehouse))
  const isShared = sharesQueue(config)
  const ms = locks?.lockDuration ?? LOCKS.lockDuration
  try {
    using _looking = isShared ? shareRuns(runs, queues, { values: store.values, clock }) : undefined
    await using live = await startServing(config, { token: context.serveToken, log })
    let notifier: Notifier | undefined
    const onPublished = async ({ replaced }: { readonly replaced: boolean }) => {
      if (replaced) await live?.onPublished()
      notifier?.setDue('data')
    }
    const keeping = { published, historyMs, snapshotsMs: lake?.snapshotsMs }
    const housekeeping = new Housekeeping({ ...shared, ...keeping, runLogs, onPublished })
    const standings = () => standingsOf(warehouse, config)
    const operations = workerOperations({ ...shared, housekeeping, standings, console: context.consoleAddress })
    // The sockets of several workers would collide, so commands use the queue.
    await using _socket = isShared ? undefined : await listenAt(socketPathOf(config.warehouse), operations)
    log.info({ path: config.warehouse }, 'this process owns the warehouse')
    const orphans = isShared ? 0 : await queues.takeOverFromDeadOwner()
    if (orphans > 0) log.info({ orphans }, 'took over the jobs of an owner that has died')
    const lease: OwnerOptions['lease'] = (name, signal, work) => store.lease({ name, ms, signal }, work)
    const owner = new Owner({ ...shared, housekeeping, onWarehouseBroken: end, ...(isShared && { lease }) })
    owner.start()
    const lead = async (): Promise<void> => {
      owner.keepHouse()
      notifier = await openNotifier(context, { runs, warehouse })
      await (notifier && sendMessages(notifier, consumers, ending.signal))
    }
    const led = isShared
      ? leadAlone(context, { name: 'house', ms, signal: ending.signal }, { lead, onLost: end })
      : lead()
    ownership.owned = { backend: ownerBackend({ config, clock, warehouse, operations, runs }), warehouse }
    ownership.isOwnerKnown = true
    consumeRequests(consumers, operations)
    await resumeBackfills(context, warehouse)
    await ended.promise
    operations.close()
    ending.abort()
    await led
    await endInTime(context, returnJobs(consumers, warehouse, context))
  } finally {
    ownership.owned = undefined
    ownership.isOwnerKnown = false
    ending.abort()
    await endInTime(context, warehouse.close())
    log.info('the warehouse is closed')
  }
}

/** Lets only one worker of a lake do housekeeping and send messages. */
async function leadAlone(
  { store, clock }: OwnerWiring,
  request: LeaseRequest,
  { lead, onLost }: { readonly lead: () => Promise<void>; readonly onLost: () => void },
): Promise<void> {
  const { signal, ms } = request
  const work = async (lost: AbortSignal) => {
    using _ = onAbort(lost, onLost)
    await lead()
    await new Promise<void>((resolve) => void onAbort(signal, resolve))
  }
  while (!signal.aborted) await store.lease(request, work).catch(() => clock.sleep(ms, signal).catch(() => undefined))
}

async function openNotifier(context: OwnerWiring, { runs, warehouse }: { runs: Runs; warehouse: Warehouse }) {
  const { config, metrics, queues } = context
  if (config.notify === undefined) return undefined
  return new Notifier({
    ...context,
    runs,
    book: await openNoticeBook(config.warehouse),
    books: () => bookFigures(warehouse),
    readNewData: (since) => readNewData(config, warehouse, since),
    requestDelivery: (receiver) => queues.addDelivery(receiver),
    onMessage: (event, outcome) => metrics.meters.notices.inc({ event, outcome }),
  })
}

function sendMessages(notifier: Notifier, consumers: JobConsumers, ending: AbortSignal): Promise<void> {
  const { receivers } = notifier.deliveries
  const process = ({ data, signal }: Task<NoticesJob>) => notifier.deliveries.deliver(data.receiver, signal)
  consumers.consume('notices', { schema: NoticesJob, concurrency: receivers.length, process })
  return notifier.run(ending)
}

/** The queue may have lost the job of a running backfill. */
async function resumeBackfills({ queues, log }: OwnerWiring, warehouse: Warehouse): Promise<void> {
  for (const { backfillId, report, state, since, until } of await warehouse.backfills.open()) {
    if (state !== 'running') continue
    log.info({ backfillId, report }, `${report}: a backfill continues`)
    await queues.addBackfill({ backfillId, report, from: since, to: until })
  }
}

const INTERRUPT_EVERY_MS = 100

/** Interrupts running statements, because a statement could take minutes. */
async function returnJobs(consumers: JobConsumers, warehouse: Warehouse, { clock, log }: OwnerWiring): Promise<void> {
  const startedMs = clock.monotonicMs()
  warehouse.interrupt()
  using _ = repeat(INTERRUPT_EVERY_MS, clock, () => warehouse.interrupt())
  await consumers.stop()
  log.info({ ms: Math.round(clock.monotonicMs() - startedMs) }, 'returned the jobs to the queue')
}

const ENDING_MS_MAX = 30_000

/** Exits if `work` takes too long, so that a standby can open the warehouse. */
async function endInTime({ clock, log }: OwnerWiring, work: Promise<void>): Promise<void> {
  const cancel = clock.after(ENDING_MS_MAX, () => {
    log.error(`the warehouse could not be closed within ${ENDING_MS_MAX / 1_000} s: this process ends. Start it again`)
    process.exit(1)
  })
  await work.finally(cancel)
}

const TEMPORARY_ERRORS: readonly ErrorCode[] = ['WAREHOUSE_LOCKED', 'DISK_FULL']

/** Opens the warehouse and works as its owner. Retries after temporary errors. */
export async function ownOrStandBy(context: OwnerWiring, signal: AbortSignal): Promise<void> {
  const { config, log, clock, openRetryMs, ownership, onOwned } = context
  let logged: ErrorCode | undefined
  // Once this process has been the owner, staged files must be kept: it may have pulled them itself.
  let isFirst = true
  while (!signal.aborted) {
    const opened = await openWarehouse(config, isFirst ? {} : { isShared: true }).catch(asSyncError)
    if (!(opened instanceof SyncError)) {
      logged = undefined
      isFirst = false
      onOwned()
      await runAsOwner(context, opened, signal)
      continue
    }
    const { code } = opened
    if (!TEMPORARY_ERRORS.includes(code)) throw opened
    if (code !== logged) log.info({ code }, `standing by: ${opened.message}`)
    logged = code
    if (code === 'WAREHOUSE_LOCKED') ownership.isOwnerKnown = true
    await clock.sleep(openRetryMs, signal).catch(() => undefined)
  }
}
