/** The life of a worker: opens the queue and the client, takes up its roles, and works until it is stopped. */
import { Crew } from '../../jobs/queue/crew.ts'
import { Metrics } from '../../jobs/metrics/metrics.ts'
import { Requests } from '../../jobs/queue/requests.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import { tick } from '../../jobs/schedule/ticker.ts'
import { openTracing } from '../../jobs/tracing/tracing.ts'
import { takeWindows } from '../../jobs/backfill/windows.ts'
import type { ClientEvent } from '../client/reporting.ts'
import { MINUTE_MS } from '../instant.ts'
import { createLog } from '../log.ts'
import { observedBy } from '../observe.ts'
import { RunLogs, runLogsOf } from '../runLogs.ts'
import { checkReach } from '../console/access/address.ts'
import type { Config } from '../config/config.ts'
import { clientOf, settingsOf } from '../wiring/openContext.ts'
import type { Shell } from '../cli/shell.ts'
import { version } from '../wiring/version.ts'
import { keptConsole } from './console.ts'
import { logLevelOf, loggingWork } from '../wiring/workLog.ts'
import { greeting } from './greeting.ts'
import { ownOrStandBy } from './ownership.ts'
import { beating } from './pulse.ts'
import { rolesOf } from './roles.ts'
import { Seat } from './seat.ts'
import { serveToken } from './serving.ts'

export interface WorkerOptions {
  /** Undefined: all of them. */
  readonly roles?: string
  /** For tests: how long a job's lock is valid, in milliseconds. */
  readonly lock?: number
}

const HEAL_MS = MINUTE_MS
const STANDBY_MS = 3_000
/** The store looks for lost locks three times in the life of one. */
const LOOKS_PER_LOCK = 3

/** Returns when it was stopped. Errors: those of opening, and of what ends a role for good. */
export async function runWorker(shell: Shell, config: Config, options: WorkerOptions): Promise<void> {
  const { clock, stop, out } = shell
  const roles = rolesOf(options.roles)
  if (roles.has('console')) checkReach(config.console.host, config.console.token)
  await using runLogs = new RunLogs(runLogsOf(config.warehouse), clock)
  const log = createLog({ level: logLevelOf(shell.env, 'info'), keep: (line) => runLogs.take(line) })
  stop.endsWell()
  await using tracing = await openTracing({ env: shell.env, version: version(), log })
  using metrics = new Metrics({ config, clock, version: version() })
  const observe = observedBy(
    ...(tracing === undefined ? [] : [tracing.observe]),
    metrics.observe,
    loggingWork(log, clock),
  )
  const directory = `${config.warehouse}.queue`
  await using store = await openStore(config.queue, { directory, log, clock, telemetry: tracing?.telemetry })
  const onEvent = (event: ClientEvent) => metrics.onEvent(event)
  await using client = clientOf(config, { clock, log, store, observe, onEvent })
  const { lock } = options
  const locks = lock === undefined ? undefined : { lockMs: lock, stalledMs: Math.ceil(lock / LOOKS_PER_LOCK) }
  const crew = new Crew({ store, clock, log, locks })
  const requests = new Requests(store)
  metrics.queues(() => requests.depths())
  const seat = new Seat()
  await using console = roles.has('console')
    ? await keptConsole(
        { shell, config, log, requests, roles, seat, metricsText: () => metrics.text() },
        options.roles !== undefined,
      )
    : undefined
  const pull = once(() => {
    if (roles.has('pull')) takeWindows(crew, { requests, client, clock, settings: settingsOf(config), observe })
  })
  const shortest = lock === undefined ? {} : { healMs: lock, standbyMs: lock }
  const parts = {
    config,
    client,
    requests,
    log,
    clock,
    store,
    locks,
    crew,
    serveToken: serveToken(config, { err: shell.err, log }),
    seat,
    runLogs,
    consoleAddress: () => console?.address(),
    metrics,
    observe,
    healMs: HEAL_MS,
    standbyMs: STANDBY_MS,
    onOwned: pull,
    ...shortest,
  }
  await using _pulse = beating(config.warehouse, clock)
  out.write(greeting(config, roles))
  // Where nobody else can pull, the owner empties the staging directory first: nothing may be pulled into it before.
  if (store.kind !== 'embedded') pull()
  await untilStopped(stop.signal, {
    crew,
    works: [
      ...(roles.has('schedule') ? [(signal: AbortSignal) => tick(parts, signal)] : []),
      ...(roles.has('load') ? [(signal: AbortSignal) => ownOrStandBy(parts, signal)] : []),
    ],
  })
  log.info('stopped')
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) work()
    isDone = true
  }
}

interface Parts {
  readonly crew: Crew
  readonly works: readonly ((signal: AbortSignal) => Promise<void>)[]
}

/** What ends one part for good ends them all, and with them the process: whoever watches it starts it again. */
async function untilStopped(stop: AbortSignal, { crew, works }: Parts): Promise<void> {
  const failing = new AbortController()
  const signal = AbortSignal.any([stop, failing.signal])
  const ended = Promise.allSettled(
    works.map((work) =>
      work(signal).catch((error: unknown) => {
        failing.abort(error)
        throw error
      }),
    ),
  )
  await new Promise((resolve) => (signal.aborted ? resolve(undefined) : signal.addEventListener('abort', resolve)))
  await Promise.all([crew.stop(), ended])
  for (const each of await ended) if (each.status === 'rejected') throw each.reason
}
