/**
 * The one place that wires everything: configuration → log → client → warehouse → the rooms of a story. Whoever opens
 * them closes them, in reverse order, whatever happened in between.
 */
import { rm } from 'node:fs/promises'
import { type ClientEvent, openClient, type ReportingClient } from '../client/reporting.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import { type Clock, systemClock } from '../clock.ts'
import { removeFolder } from '../folders.ts'
import { MINUTE_MS } from '../instant.ts'
import type { Config } from '../config/config.ts'
import type { GuardedLog } from '../log.ts'
import type { Observe } from '../observe.ts'
import { removeStaleStaging } from '../sync/staleStaging.ts'
import { identityOf, type SyncContext, type SyncSettings } from '../sync/context.ts'
import { Warehouse } from '../warehouse/warehouse.ts'
import { logClientEvent } from './clientLog.ts'
import { pausesBeside } from './pausesBeside.ts'

export interface Wiring {
  readonly clock: Clock
  /** Aborted when the work is to stop. */
  readonly signal: AbortSignal
  readonly log: GuardedLog
  readonly observe?: Observe | undefined
}

export interface OpenContext extends AsyncDisposable {
  readonly context: SyncContext
  readonly warehouse: Warehouse
}

export async function openContext(config: Config, { clock, signal, log, observe }: Wiring): Promise<OpenContext> {
  await using opening = new AsyncDisposableStack()
  const client = opening.use(clientOf(config, { clock, log, observe }))
  const warehouse = opening.use(await openWarehouse(config))
  // Beside other loaders and pullers, whatever lies there may be theirs.
  if (!hasOthers(config)) opening.defer(() => rm(config.staging, { recursive: true, force: true }))
  const interrupt = () => warehouse.interrupt()
  signal.addEventListener('abort', interrupt)
  opening.defer(() => signal.removeEventListener('abort', interrupt))
  signal.throwIfAborted()
  const context: SyncContext = {
    client,
    warehouse,
    clock,
    settings: settingsOf(config),
    onProgress: () => undefined,
    signal,
    observe,
  }
  const closing = opening.move()
  return { context, warehouse, [Symbol.asyncDispose]: () => closing.disposeAsync() }
}

export const settingsOf = (config: Config): SyncSettings => ({
  reports: config.reports,
  currencies: config.currencies,
  limits: config.limits,
  concurrency: config.service.concurrency,
  identity: identityOf(config.service),
  hashKey: config.hashKey,
  staging: config.staging,
})

export interface ClientWiring extends Pick<Wiring, 'clock' | 'log' | 'observe'> {
  /** How often a request is sent before its failure is told; the client's own measure without it. */
  readonly attemptsMax?: number
  /** Where the token and the pauses are shared with other processes; without it, long pauses are kept in a file. */
  readonly store?: Pick<QueueStore, 'tokens' | 'pauses'>
  /** Told beside the log. */
  readonly onEvent?: (event: ClientEvent) => void
}

export function clientOf(config: Config, wiring: ClientWiring): ReportingClient {
  const { clock, log, attemptsMax, store, observe } = wiring
  guardSecrets(config, log)
  const limits = {
    answerBytesMax: config.limits.pageBytesMax,
    ...(attemptsMax !== undefined && { attemptsMax }),
  }
  const onEvent = (event: ClientEvent) => {
    if (event.kind === 'secret changed') guardSecrets(config, log)
    logClientEvent(log, event)
    wiring.onEvent?.(event)
  }
  const identity = `${config.service.baseUrl.href} ${identityOf(config.service)}`
  const tokenStore = store?.tokens({ identity, secret: config.service.clientSecret })
  const sharedPauses = store?.pauses({ identity }) ?? pausesBeside(config.warehouse, identity, clock)
  return openClient({ ...config.service, limits }, { clock, onEvent, observe, tokenStore, sharedPauses })
}

/** No line of the log holds a secret of the configuration. */
export function guardSecrets({ service, console, hashKey, notify }: Config, log: GuardedLog): void {
  if (notify !== undefined) log.guard(notify.secret)
  if (hashKey !== undefined) log.guard(hashKey)
  log.guard(service.clientSecret)
  if (console.token !== undefined) log.guard(console.token)
}

/** Whether other processes may stage rows in the same directory: pullers need a queue for several, a lake has loaders. */
const hasOthers = ({ queue, lake }: Config): boolean => queue !== 'embedded' || lake !== undefined

/** What nothing was written to for so long was left by a process that is gone. */
const LEFT_MS = 15 * MINUTE_MS

/**
 * The file's lock is ours now, so staged rows that lie here are what a killed process left; unless other processes pull
 * windows into the same directory.
 */
export async function openWarehouse(config: Config, { isShared = hasOthers(config) } = {}): Promise<Warehouse> {
  const { warehouse: path, lake, limits, staging } = config
  const { warehouseMemory: memory, warehouseThreads: threads } = limits
  const warehouse = await Warehouse.open({ path, lake, memory, threads })
  if (isShared) await removeStaleStaging(staging, systemClock.now(), LEFT_MS)
  else await removeFolder(staging)
  return warehouse
}
