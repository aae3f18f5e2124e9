/** The process that a soak of a year measures: the parts of an owner, on a clock that the soak moves. */
import { setTimeout as delay } from 'node:timers/promises'
import { consumeWindows } from '../../../jobs/backfill/windows.ts'
import { Housekeeping } from '../../../jobs/owner/housekeeping.ts'
import { Owner } from '../../../jobs/owner/owner.ts'
import { JobConsumers } from '../../../jobs/queue/consumers.ts'
import { JobQueues } from '../../../jobs/queue/jobQueues.ts'
import { Runs } from '../../../jobs/runs/runs.ts'
import { openStore } from '../../../jobs/stores/openStore.ts'
import type { QueueStore } from '../../../jobs/stores/store.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { fromMillis, toMillis } from '../../../src/instant.ts'
import { createLog } from '../../../src/log.ts'
import type { Note, Subject } from '../../../src/observe.ts'
import { openRunLogs, runLogsOf } from '../../../src/runLogs.ts'
import { clientOf, openWarehouse, settingsOf } from '../../../src/wiring/openContext.ts'
import { loggingWork } from '../../../src/wiring/workLog.ts'
import { passingClock } from './clock.ts'
import type { WorldReport } from '../../../src/sandbox/server.ts'
import type { TickResult, TickOrder } from './orders.ts'
import { type OwnerAccess, sampleOf } from './sample.ts'

const POLL_EVERY_MS = 10
/** From the beginning to one day ago. */
const BACKFILL = { fromMs: Date.UTC(2_000, 0, 1), agoMs: 24 * 3_600_000 }

const clock = passingClock()
const failures: string[] = []
await using ending = new AsyncDisposableStack()
const config = await loadConfig({ cwd: process.argv[2] ?? '.', env: process.env })
const runLogs = openRunLogs(runLogsOf(config.warehouse), clock)
const destination = { write: takeFailure }
const log = createLog({ level: 'warn', destination, pretty: false, keep: (line) => runLogs.take(line) })
const logging = loggingWork(log, clock)
const underWay = { publications: 0 }
const opened = ending.use(await openStore(config.queue, { directory: `${config.warehouse}.queue`, log, clock }))
/** Called each time a job has ended. */
let onJobEnd = (): void => undefined
const store: QueueStore = Object.assign(Object.create(opened) as QueueStore, { worker: watchedWorker })
const client = ending.use(clientOf(config, { clock, log, store, observe }))
const warehouse = ending.use(await openWarehouse(config))
const queues = new JobQueues(store)
const consumers = new JobConsumers({ store, clock, log })
const settings = settingsOf(config)
const shared = { context: { client, warehouse, clock, settings, observe }, queues, log, runs: new Runs(), consumers }
const { published, historyMs } = config
const housekeeping = new Housekeeping({ ...shared, published, historyMs, runLogs })
consumeWindows(consumers, { queues, client, clock, settings, observe })
const owner = new Owner({ ...shared, housekeeping, onWarehouseBroken: () => failures.push('the database is broken') })
owner.consumeRuns()
owner.consumeHousekeeping()
const parts: OwnerAccess = { config, warehouse, queues }

/** Logs all work, and counts the publications. */
async function observe<T>(subject: Subject, work: (note: Note) => Promise<T>): Promise<T> {
  if (subject.what !== 'publish') return await logging(subject, work)
  underWay.publications += 1
  try {
    return await logging(subject, work)
  } finally {
    underWay.publications -= 1
  }
}

function takeFailure(line: string): void {
  const { report = '', msg = '' } = JSON.parse(line) as { report?: string; msg?: string }
  failures.push(`${report} ${msg}`.trim())
}

async function carryOut(order: TickOrder): Promise<TickResult> {
  // An hour that passes during a publication would count as its duration.
  while (underWay.publications > 0) await delay(POLL_EVERY_MS)
  clock.pass(order.passMs)
  await afterJobs(order.incremental.length, () =>
    Promise.all(order.incremental.map((each) => queues.addIncremental(each))),
  )
  for (const report of order.reconcile) await afterJobs(1, () => queues.addReconcile(report, { allowMassDelete: true }))
  if (order.backfill !== undefined) await runBackfill(order.backfill)
  if (order.isTidied) await tidy()
  return { sample: order.isSampled ? await sampleOf(parts) : undefined, failures: failures.splice(0) }
}

async function runBackfill(report: WorldReport): Promise<void> {
  const [from, to] = [fromMillis(BACKFILL.fromMs), fromMillis(toMillis(clock.now()) - BACKFILL.agoMs)]
  await afterJobs(1, () => queues.addBackfill({ backfillId: `backfill-${clock.now()}`, report, from, to }))
}

/** Publishes now, and does the work between runs. */
async function tidy(): Promise<void> {
  const delayed = await queues.queue('housekeeping').getDelayed()
  // Promoting a job fails if it has already begun.
  for (const job of delayed) await job.promote().catch(() => undefined)
  for (const work of ['checkpoint', 'retention'] as const) await afterJobs(1, () => queues.addHousekeeping(work))
}

/** Waits until at least `count` jobs have ended, and none is left. */
async function afterJobs(count: number, add: () => Promise<unknown>): Promise<void> {
  const ended = Promise.withResolvers<void>()
  let left = count
  onJobEnd = () => (left -= 1) <= 0 && ended.resolve()
  if (count === 0) return
  await add()
  await ended.promise
  while (!(await isIdle())) await delay(POLL_EVERY_MS)
}

/** Delayed jobs do not count. */
async function isIdle(): Promise<boolean> {
  const depths = Object.entries(await queues.depths())
  return depths.every(
    ([name, { waiting, active, delayed }]) => waiting + active + (name === 'housekeeping' ? 0 : delayed) === 0,
  )
}

function watchedWorker<Data, Result>(...parts: Parameters<typeof opened.worker<Data, Result>>) {
  const worker = opened.worker<Data, Result>(...parts)
  worker.on('completed', () => onJobEnd())
  worker.on('failed', () => onJobEnd())
  return worker
}

const over = Promise.withResolvers<void>()
async function answer(order: TickOrder): Promise<void> {
  try {
    process.send?.(await carryOut(order))
  } catch (error) {
    over.reject(error)
  }
}

process.on('message', (order: TickOrder) => void answer(order))
process.on('disconnect', over.resolve)
process.send?.('ready')
await over.promise
await consumers.stop()
