/** Makes a worker the owner of the warehouse, or a standby that waits for the file. */
import { isKnown } from '../../schema/index.ts'
import type { Metrics } from '../../jobs/metrics/metrics.ts'
import { openNoticeBook } from '../../jobs/notify/memory.ts'
import { Notifier } from '../../jobs/notify/notifier.ts'
import { Housekeeping } from '../../jobs/owner/housekeeping.ts'
import { type LeaseOfLake, Owner } from '../../jobs/owner/owner.ts'
import { shareRuns } from '../../jobs/owner/sharedRuns.ts'
import { JobConsumers, type ConsumersOptions, type Task } from '../../jobs/queue/consumers.ts'
import { A_LAKE, releaseStore, reserveStore } from '../../jobs/stores/reservation.ts'
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
  /** Called when this process owns the warehouse or, with a shared queue, is a standby. */
  readonly onAdmitted: () => void
}

const TEMPORARY_ERRORS: readonly ErrorCode[] = ['WAREHOUSE_LOCKED', 'DISK_FULL']

/** Opens the warehouse and works as its owner. While another process owns it or the disk is full, tries again. */
export async function ownOrStandBy(wiring: OwnerWiring, signal: AbortSignal): Promise<void> {
  const { config, log, clock, store, openRetryMs, ownership, onAdmitted } = wiring
  let logged: ErrorCode | undefined
  // Only the first opening empties the staging folder. Later, this process may be reading windows into it.
  let isFirst = true
  while (!signal.aborted) {
    const opened = await openWarehouse(config, isFirst ? {} : { isShared: true }).catch(asSyncError)
    if (!(opened instanceof SyncError)) {
      logged = undefined
      isFirst = false
      await runAsOwner(wiring, opened, signal)
      continue
    }
    const { code } = opened
    if (!TEMPORARY_ERRORS.includes(code)) throw opened
    if (code !== logged) log.info({ code }, `standing by: ${opened.message}`)
    logged = code
    if (code === 'WAREHOUSE_LOCKED') ownership.isOwnerKnown = true
    if (store.kind !== 'embedded') onAdmitted()
    await clock.sleep(openRetryMs, signal).catch(() => undefined)
  }
}

const RENEWALS_PER_LOCK = 3

async function runAsOwner(wiring: OwnerWiring, warehouse: Warehouse, signal: AbortSignal): Promise<void> {
  const { config, log, clock, metrics, ownership, store, locks, onAdmitted } = wiring
  using _ = metrics.watchBooks(() => bookFigures(warehouse))
  const user = `${config.lake === undefined ? config.warehouse : A_LAKE} ${warehouse.numberPrefix}`
  const ms = locks?.lockDuration ?? LOCKS.lockDuration
  // The folder of the embedded queue belongs to one warehouse.
  const reserve = async () => store.kind === 'embedded' || reserveStore(store, user, ms)
  const losing = new AbortController()
  try {
    await reserve()
    using _renewal = repeat(ms / RENEWALS_PER_LOCK, clock, () =>
      reserve().catch((error: unknown) => asSyncError(error).code === 'QUEUE_UNFIT' && losing.abort()),
    )
    onAdmitted()
    // If the reservation is lost, `ownOrStandBy` opens the warehouse again, and `reserve` throws.
    await workUntilStopped(wiring, warehouse, AbortSignal.any([signal, losing.signal]))
  } finally {
    // The reservation of a lake only expires, because other workers of the lake may still use it.
    if (config.lake === undefined) void releaseStore(store, user).catch(() => undefined)
    ownership.owned = undefined
    ownership.isOwnerKnown = false
    await endInTime(wiring, warehouse.close())
    log.info('the warehouse is closed')
  }
}

/** Works until `signal` aborts, the warehouse is broken, or another worker becomes the leader of the lake. */
async function workUntilStopped(wiring: OwnerWiring, warehouse: Warehouse, signal: AbortSignal): Promise<void> {
  const { config, client, clock, log, queues, store, locks, observe, ownership, runLogs } = wiring
  const { published, historyMs, lake } = config
  const consumers = new JobConsumers(wiring)
  const runs = new Runs()
  const context = { client, warehouse, clock, settings: settingsOf(config), observe }
  const shared = { context, queues, log, runs, consumers }
  const { promise: stopRequest, resolve: requestStop } = Promise.withResolvers<void>()
  using _stopping = onAbort(signal, requestStop)
  const leading = new AbortController()
  using _leading = { [Symbol.dispose]: () => leading.abort() }
  const isShared = sharesQueue(config)
  const ms = locks?.lockDuration ?? LOCKS.lockDuration
  using _sharing = isShared ? shareRuns(runs, queues, { values: store.values, clock }) : undefined
  await using live = await startServing(config, { token: wiring.serveToken, log })
  let notifier: Notifier | undefined
  const onPublished = async ({ replaced }: { readonly replaced: boolean }) => {
    if (replaced) await live?.onPublished()
    notifier?.setDue('data')
  }
  const retention = { historyMs, snapshotsMs: lake?.snapshotsMs, runLogs }
  const housekeeping = new Housekeeping({ ...shared, ...retention, published, onPublished })
  const standings = () => standingsOf(warehouse, config)
  const operations = workerOperations({ ...shared, housekeeping, standings, console: wiring.consoleAddress })
  // Workers that share a lake have no sockets: their paths would be equal. Commands reach them through the queue.
  await using _socket = isShared ? undefined : await listenAt(socketPathOf(config.warehouse), operations)
  log.info({ path: config.warehouse }, 'this process owns the warehouse')
  const orphans = isShared ? 0 : await queues.takeOverFromDeadOwner()
  if (orphans > 0) log.info({ orphans }, 'took over the jobs of an owner that has died')
  const lease: LeaseOfLake = (name, signal, work) => store.lease({ name, ms, signal }, work)
  const leaseOfLake = isShared ? lease : undefined
  const owner = new Owner({ ...shared, housekeeping, leaseOfLake, onWarehouseBroken: requestStop })
  owner.consumeRuns()
  const lead = async (): Promise<void> => {
    owner.consumeHousekeeping()
    notifier = await openNotifier(wiring, { runs, warehouse })
    await (notifier && sendMessages(notifier, consumers, leading.signal))
  }
  const house = { name: 'house', ms, signal: leading.signal }
  const leadEnd = isShared ? leadAlone(wiring, house, { lead, onLost: requestStop }) : lead()
  ownership.owned = { backend: ownerBackend({ config, clock, warehouse, operations, runs }), warehouse }
  ownership.isOwnerKnown = true
  consumeRequests(consumers, operations)
  await resumeBackfills(wiring, warehouse)
  await stopRequest
  operations.close()
  leading.abort()
  await leadEnd
  await endInTime(wiring, returnJobs(consumers, warehouse, wiring))
}

/** Runs `lead`, which does housekeeping and sends messages, while no other worker of the lake runs it. */
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

async function openNotifier(wiring: OwnerWiring, { runs, warehouse }: { runs: Runs; warehouse: Warehouse }) {
  const { config, metrics, queues } = wiring
  if (config.notify === undefined) return undefined
  return new Notifier({
    ...wiring,
    runs,
    book: await openNoticeBook(config.warehouse),
    books: () => bookFigures(warehouse, config),
    readNewData: (since) => readNewData(config, warehouse, since),
    requestDelivery: (receiver) => queues.addDelivery(receiver),
    onMessage: (event, outcome) => metrics.meters.notices.inc({ event, outcome }),
  })
}

function sendMessages(notifier: Notifier, consumers: JobConsumers, ending: AbortSignal): Promise<void> {
  const process = ({ data, signal }: Task<NoticesJob>) => notifier.deliveries.deliver(data.receiver, signal)
  consumers.consume('notices', { schema: NoticesJob, concurrency: notifier.deliveries.receivers.length, process })
  return notifier.run(ending)
}

/** Adds again the jobs of unfinished backfills, because the queue may have lost them. */
async function resumeBackfills({ queues, log }: OwnerWiring, warehouse: Warehouse): Promise<void> {
  for (const { backfillId, report, state, since, until } of (await warehouse.backfills.open()).filter(isKnown)) {
    if (state !== 'running') continue
    log.info({ backfillId, report }, `${report}: a backfill continues`)
    await queues.addBackfill({ backfillId, report, from: since, to: until })
  }
}

const INTERRUPT_EVERY_MS = 100

/** Puts the jobs back into the queue. Interrupts running statements, which could otherwise take minutes. */
async function returnJobs(consumers: JobConsumers, warehouse: Warehouse, { clock, log }: OwnerWiring): Promise<void> {
  const startedMs = clock.monotonicMs()
  warehouse.interrupt()
  using _ = repeat(INTERRUPT_EVERY_MS, clock, () => warehouse.interrupt())
  await consumers.stop()
  log.info({ ms: Math.round(clock.monotonicMs() - startedMs) }, 'returned the jobs to the queue')
}

const ENDING_MS_MAX = 30_000

/** Waits for `work`. Exits the process if `work` takes too long, so that a standby can open the warehouse. */
async function endInTime({ clock, log }: OwnerWiring, work: Promise<void>): Promise<void> {
  const cancel = clock.after(ENDING_MS_MAX, () => {
    log.error(`the warehouse could not be closed within ${ENDING_MS_MAX / 1_000} s: this process ends. Start it again`)
    process.exit(1)
  })
  await work.finally(cancel)
}
