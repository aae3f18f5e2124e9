/** Runs a worker until it is stopped or a role fails. The roles are `schedule`, `load`, `pull` and `console`. */
import { consumeWindows } from '../../jobs/backfill/windows.ts'
import { Metrics } from '../../jobs/metrics/metrics.ts'
import { JobConsumers } from '../../jobs/queue/consumers.ts'
import { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { runSchedule } from '../../jobs/schedule/schedule.ts'
import { addressOf } from '../../jobs/stores/address.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import { openTracing } from '../../jobs/tracing/tracing.ts'
import type { Config, ReportConfig, Rhythm } from '../config/config.ts'
import { checkTokens } from '../console/access/address.ts'
import { MINUTE_MS } from '../instant.ts'
import { makePrivateFolder } from '../folders.ts'
import type { Host } from '../operations/surroundings.ts'
import { observedBy } from '../observe.ts'
import { openRunLogs, runLogsOf } from '../runLogs.ts'
import { clientOf, settingsOf, sharesQueue } from '../wiring/openContext.ts'
import { version } from '../wiring/version.ts'
import { loggingWork } from '../wiring/workLog.ts'
import { startConsole } from './console.ts'
import { startHeartbeat } from './heartbeat.ts'
import type { WarehouseOwnership } from './readiness.ts'
import { rolesOf, type Role } from './roles.ts'
import { openServeToken } from './serving.ts'
import { ownOrStandBy } from './ownOrStandBy.ts'
import { reportNames } from '../../schema/index.ts'
import { isCron } from '../config/cron.ts'
import { lakeName } from '../warehouse/database/lake.ts'
import { onAbort } from '../signals.ts'

export interface WorkerShell extends Host {
  readonly out: { write(text: string): void }
  readonly err: { write(text: string): void }
  readonly signal: AbortSignal
}

export interface WorkerOptions {
  readonly roles?: string | undefined
  /** Only for tests. The duration of a job's lock, in milliseconds. */
  readonly lock?: number | undefined
}

/** Runs a worker until `shell.signal` aborts. Throws if a role fails. */
export async function runWorker(shell: WorkerShell, options: WorkerOptions): Promise<void> {
  const { config, clock, signal } = shell
  const roles = rolesOf(options.roles)
  if (roles.has('console')) checkTokens(config.console.host, config.console)
  const runLogs = openRunLogs(runLogsOf(config.warehouse), clock)
  const log = shell.openLog((line) => runLogs.take(line))
  await using tracing = await openTracing({ env: shell.env, version: version(), log })
  using metrics = new Metrics({ config, clock, version: version() })
  const traced = tracing === undefined ? [] : [tracing.observe]
  const observe = observedBy(...traced, metrics.observe, loggingWork(log, clock))
  const directory = `${config.warehouse}.queue`
  await using store = await openStore(config.queue, { directory, log, clock, telemetry: tracing?.telemetry })
  await using client = clientOf(config, { clock, log, store, observe, onEvent: (event) => metrics.onEvent(event) })
  const queues = new JobQueues(store)
  metrics.watchQueues(() => queues.depths())
  const ownership: WarehouseOwnership = { isOwnerKnown: false }
  const metricsText = () => metrics.text()
  await using console = roles.has('console')
    ? await startConsole(
        { err: shell.err, clock, config, log, queues, store, roles, ownership, metricsText },
        options.roles !== undefined,
      )
    : undefined
  const { locks, pollMs, openRetryMs } = intervalsOf(options.lock)
  const consumers = new JobConsumers({ store, clock, log, locks })
  // Workers of one lake do not read windows for each other, because they cannot read each other's staged files.
  const mayPull = roles.has('pull') && !sharesQueue(config)
  const consoleAddress = () => console?.address()
  const serveToken = openServeToken(config, { err: shell.err, log })
  const context = { config, client, queues, log, clock, store, locks, metrics, observe, ownership, runLogs }
  const { promise: admitted, resolve: admit } = Promise.withResolvers<boolean>()
  const owner = { ...context, serveToken, consoleAddress, openRetryMs, onAdmitted: () => admit(true) }
  await using _heartbeat = startHeartbeat(config.warehouse, clock)
  shell.out.write(greeting(config, roles))
  if (!roles.has('load')) admit(true)
  // Work waits: before, another warehouse may use the queue, and the owner would delete windows as it empties staging.
  const whenAdmitted = (work: RoleWork) => async (signal: AbortSignal) => {
    using _ = onAbort(signal, () => admit(false))
    if (await admitted) await work(signal)
  }
  const pull = async () => {
    makePrivateFolder(config.staging)
    consumeWindows(consumers, { queues, client, clock, settings: settingsOf(config), observe })
  }
  const schedule = (signal: AbortSignal) => runSchedule({ ...context, consumers, pollMs }, signal)
  await untilStopped(signal, consumers, [
    ...(mayPull ? [whenAdmitted(pull)] : []),
    ...(roles.has('schedule') ? [whenAdmitted(schedule)] : []),
    ...(roles.has('load') ? [(signal: AbortSignal) => ownOrStandBy(owner, signal)] : []),
  ])
  log.info('stopped')
}

const SCHEDULE_CHECK_MS = MINUTE_MS
const OPEN_RETRY_MS = 1_000
const CHECKS_PER_LOCK = 3

const intervalsOf = (lock: number | undefined) => ({
  locks: lock === undefined ? undefined : { lockDuration: lock, stalledInterval: Math.ceil(lock / CHECKS_PER_LOCK) },
  pollMs: lock ?? SCHEDULE_CHECK_MS,
  openRetryMs: lock ?? OPEN_RETRY_MS,
})

type RoleWork = (signal: AbortSignal) => Promise<void>

/** Waits until `stop` aborts. Throws the error of a role that fails, so that the process ends and is restarted. */
async function untilStopped(stop: AbortSignal, consumers: JobConsumers, roles: readonly RoleWork[]): Promise<void> {
  const failing = new AbortController()
  const signal = AbortSignal.any([stop, failing.signal])
  const ended = Promise.allSettled(
    roles.map((work) =>
      work(signal).catch((error: unknown) => {
        failing.abort(error)
        throw error
      }),
    ),
  )
  await new Promise<void>((resolve) => void onAbort(signal, resolve))
  await Promise.all([consumers.stop(), ended])
  for (const each of await ended) if (each.status === 'rejected') throw each.reason
}

function greeting(config: Config, roles: ReadonlySet<Role>): string {
  const lines: (readonly [string, string])[] = [
    ['roles', [...roles].join(', ')],
    ['queue', config.queue === 'embedded' ? `embedded, in ${config.warehouse}.queue` : addressOf(config.queue).shown],
    ['service', config.service.baseUrl.href],
    ['warehouse', config.lake === undefined ? config.warehouse : lakeName(config.lake)],
    ...(config.lake === undefined ? [['published', config.published] as const] : []),
    ...(config.serve === undefined ? [] : [['serve', `quack:${config.serve.host}:${config.serve.port}`] as const]),
    ...reportNames.map((report) => [report, rhythmText(config.reports[report])] as const),
  ]
  const width = Math.max(...lines.map(([name]) => name.length))
  return `${lines.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join('\n')}\n`
}

function rhythmText({ enabled, offReason, timeZone, reconcile, ...rhythm }: ReportConfig): string {
  if (!enabled) return `off: ${offReason ?? 'by configuration'}`
  const parts = [everyText(rhythm, timeZone), ...(reconcile ? [`reconciled ${everyText(reconcile, timeZone)}`] : [])]
  return parts.join(', ')
}

const everyText = ({ every }: Rhythm, timeZone: string): string =>
  isCron(every) ? `at ${every} (${timeZone})` : `every ${every}`
