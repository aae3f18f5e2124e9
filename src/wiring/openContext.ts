/** Opens the service's client and the warehouse. */
import { rm, readFile } from 'node:fs/promises'
import { type ClientEvent, openClient, type ReportingClient } from '../client/reporting.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import { type Clock, systemClock, type Waiting } from '../clock.ts'
import { asSyncError, SyncError } from '../errors.ts'
import { replaceText } from '../files.ts'
import { makePrivateFolder, removeFolder } from '../folders.ts'
import { formatInstant, MINUTE_MS, fromMillis, millisBetween, plusMs, toMillis } from '../instant.ts'
import type { Config } from '../config/config.ts'
import type { GuardedLog, Log } from '../log.ts'
import type { Observe } from '../observe.ts'
import { removeStaleStaging } from '../sync/staleStaging.ts'
import { identityOf, type SyncContext, type SyncSettings, type WalkContext } from '../sync/context.ts'
import { Warehouse } from '../warehouse/warehouse.ts'
import { z } from 'zod'
import { identityHash } from '../../jobs/stores/tokenCipher.ts'
import { DEFAULT_LIMITS } from '../client/limits.ts'
import type { SharedPauses } from '../client/limiter.ts'
import { onAbort } from '../signals.ts'

export interface Wiring {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly log: GuardedLog
  readonly observe?: Observe | undefined
}

export async function openContext(config: Config, { clock, signal, log, observe }: Wiring) {
  await using opening = new AsyncDisposableStack()
  const client = opening.use(clientOf(config, { clock, log, observe }))
  const warehouse = opening.use(await openUnlocked(config, { clock, signal }))
  // A shared staging folder is kept, because other processes may have files there.
  if (!sharesStaging(config)) opening.defer(() => rm(config.staging, { recursive: true, force: true }))
  opening.use(onAbort(signal, () => warehouse.interrupt()))
  signal.throwIfAborted()
  const settings = settingsOf(config)
  const context: SyncContext = { client, warehouse, clock, settings, onProgress: () => undefined, signal, observe }
  const closing = opening.move()
  return { context, [Symbol.asyncDispose]: () => closing.disposeAsync() }
}

export function settingsOf(config: Config): SyncSettings {
  const { service, requestsPerDay, reports, currencies, limits, hashKey, staging, rejectedKeepMs } = config
  const { baseUrl, concurrency, clientSecret } = service
  const given = { requestsPerDay, reports, currencies, limits, hashKey, staging, rejectedKeepMs }
  return { ...given, baseUrl, concurrency, clientSecret, identity: identityOf(service) }
}

/** Returns a context for a dry run, which stores no rows. */
export function contextWithoutLoads(
  config: Config,
  parts: Pick<WalkContext, 'client' | 'clock' | 'signal'>,
): WalkContext {
  return { ...parts, warehouse: LOADS_NOTHING, settings: settingsOf(config), onProgress: () => undefined }
}

const LOADS_NOTHING = {
  numberPrefix: '~',
  load: () => Promise.reject(new SyncError('UNEXPECTED', 'this command loads nothing', { cure: 'Please report it.' })),
}

export interface ClientWiring extends Pick<Wiring, 'clock' | 'log' | 'observe'> {
  readonly attemptsMax?: number
  /** Processes share their token and the service's pauses through this store. */
  readonly store?: Pick<QueueStore, 'tokens' | 'pauses'>
  readonly onEvent?: (event: ClientEvent) => void
}

export function clientOf(config: Config, wiring: ClientWiring): ReportingClient {
  const { clock, log, attemptsMax, store, observe } = wiring
  guardSecrets(config, log)
  const limits = { answerBytesMax: config.limits.pageBytesMax, ...(attemptsMax !== undefined && { attemptsMax }) }
  const onEvent = (event: ClientEvent) => {
    if (event.kind === 'secret changed') guardSecrets(config, log)
    logClientEvent(log, event)
    wiring.onEvent?.(event)
  }
  const identity = `${config.service.baseUrl.href} ${identityOf(config.service)}`
  const tokenStore = store?.tokens({ identity, secret: config.service.clientSecret })
  const sharedPauses = store?.pauses({ identity }) ?? pausesInFile(config.warehouse, identity, clock)
  return openClient({ ...config.service, limits }, { clock, onEvent, observe, tokenStore, sharedPauses })
}

function logClientEvent(log: Log, event: ClientEvent): void {
  const { kind, ...facts } = event
  if (kind === 'retry') log.warn(facts, `${event.report ?? 'token'}: sent again after a failure`)
  else if (kind === 'throttled' || kind === 'wait requested') log.warn(facts, 'the service requests a pause')
  else if (kind === 'token refused') log.warn(facts, `${event.report}: the token was refused; a new one is requested`)
  else if (kind === 'token refreshed') log.info({ expiresAt: formatInstant(event.expiresAt) }, 'received a new token')
  else if (kind === 'secret changed')
    log.info('the file with the client secret has changed: the next token request uses the new secret')
  else log.warn("the service's responses have no Date header: this machine's clock is used instead")
}

/** Masks the configuration's secrets in later log lines. */
export function guardSecrets({ service, console, hashKey, notify, lake }: Config, log: GuardedLog): void {
  for (const key of lake?.storage?.keys.slice(1) ?? []) log.guard(key)
  for (const { secret } of notify?.receivers ?? []) log.guard(secret)
  if (hashKey !== undefined) log.guard(hashKey)
  log.guard(service.clientSecret)
  if (console.token !== undefined) log.guard(console.token)
}

const sharesStaging = ({ queue, lake }: Config): boolean => queue !== 'embedded' || lake !== undefined

/** Returns whether several workers load at the same time. */
export const sharesQueue = ({ queue, lake }: Config): boolean => queue !== 'embedded' && lake !== undefined

const [OPEN_TRIES_MAX, OPEN_RETRY_MS] = [10, 300]

/** Retries, because commands such as `status` lock the file for a moment. */
async function openUnlocked(config: Config, waiting: Waiting, tries = 1): Promise<Warehouse> {
  return openWarehouse(config).catch(async (error: unknown) => {
    if (asSyncError(error).code !== 'WAREHOUSE_LOCKED' || tries === OPEN_TRIES_MAX) throw error
    await waiting.clock.sleep(OPEN_RETRY_MS, waiting.signal)
    return openUnlocked(config, waiting, tries + 1)
  })
}

/** A staging folder that has not been modified for this long belongs to a process that has died. */
const STALE_MS = 15 * MINUTE_MS

/** Opens the warehouse and removes staged rows of killed processes. If `isShared`, keeps rows newer than `STALE_MS`. */
export async function openWarehouse(config: Config, { isShared = sharesStaging(config) } = {}): Promise<Warehouse> {
  const { warehouse: path, lake, limits, staging, publishBy } = config
  const { warehouseMemory: memory, warehouseThreads: threads } = limits
  await using opening = new AsyncDisposableStack()
  const warehouse = opening.use(await Warehouse.open({ path, lake, memory, threads, publishBy }))
  if (isShared) await removeStaleStaging(staging, systemClock.now(), STALE_MS)
  else await removeFolder(staging)
  makePrivateFolder(staging)
  opening.move()
  return warehouse
}

const StoredPause = z.object({
  /** A hash of the client's identity. Clients with another identity ignore the pause. */
  of: z.string(),
  fromMs: z.number(),
  untilMs: z.number(),
})

/** Stores long pauses in a file, because the next command must obey them too. */
function pausesInFile(warehouse: string, identity: string, clock: Pick<Clock, 'now'>): SharedPauses {
  const file = `${warehouse}.pause.json`
  const of = identityHash(identity)
  const remainingMs = async (): Promise<number> => {
    const kept = StoredPause.safeParse(JSON.parse(await readFile(file, 'utf8')))
    if (!kept.success || kept.data.of !== of) return 0
    const { fromMs, untilMs } = kept.data
    const now = clock.now()
    // If the pause begins in the future, the clock was set back. The pause is then ignored.
    return now < fromMillis(fromMs) ? 0 : Math.max(0, millisBetween(now, fromMillis(untilMs)))
  }
  return {
    remainingMs,
    pause: async (ms) => {
      // A short pause is not stored, because the run itself waits for its end.
      if (ms <= DEFAULT_LIMITS.retryAfterMsMax) return
      if ((await remainingMs().catch(() => 0)) >= ms) return
      const now = clock.now()
      const kept: z.infer<typeof StoredPause> = { of, fromMs: toMillis(now), untilMs: toMillis(plusMs(now, ms)) }
      await replaceText(file, JSON.stringify(kept))
    },
  }
}
