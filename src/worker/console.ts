/**
 * The console of a worker: opened with what the worker has, its address told in the log, its token once on standard
 * error. Of several workers on one machine one has the port; the others work on, and the next takes it when that one
 * ends.
 */
import { reportNames } from '../../schema/index.ts'
import type { Requests } from '../../jobs/queue/requests.ts'
import type { Config } from '../config/config.ts'
import { openConsole, type Console } from '../console/console.ts'
import type { AllSettings } from '../console/backend.ts'
import type { MetricsText } from '../console/health.ts'
import { asSyncError } from '../errors.ts'
import { formatInstant } from '../instant.ts'
import type { GuardedLog } from '../log.ts'
import { runLogsOf } from '../runLogs.ts'
import type { Shell } from '../cli/shell.ts'
import { version } from '../wiring/version.ts'
import { remoteBackend } from './consoleBackends.ts'
import type { Role } from './roles.ts'
import type { Seat } from './seat.ts'

export interface ConsoleWiring {
  readonly shell: Shell
  readonly config: Config
  readonly log: GuardedLog
  readonly requests: Requests
  readonly roles: ReadonlySet<Role>
  readonly seat: Seat
  readonly metricsText: () => Promise<MetricsText>
}

export interface KeptConsole extends AsyncDisposable {
  /** Undefined while another process has the port. */
  readonly address: () => string | undefined
}

const TRY_AGAIN_MS = 5_000

/**
 * `isConfigured`: the role was asked for by name, so that a port that is taken is an error.
 * Errors: CONFIG_INVALID; CONSOLE_PORT_TAKEN.
 */
export async function keptConsole(wiring: ConsoleWiring, isConfigured: boolean): Promise<KeptConsole> {
  const { log, shell } = wiring
  const ending = new AbortController()
  let console = await consoleOf(wiring).catch((error: unknown) => {
    if (isConfigured || asSyncError(error).code !== 'CONSOLE_PORT_TAKEN') throw error
    log.warn(`${asSyncError(error).message}: this worker goes on without a console, and takes the port when it is free`)
    return undefined
  })
  const waiting = (async () => {
    while (console === undefined) {
      await shell.clock.sleep(TRY_AGAIN_MS, ending.signal).catch(() => undefined)
      if (ending.signal.aborted) return
      console = await consoleOf(wiring).catch(() => undefined)
    }
  })()
  return {
    address: () => console?.address,
    [Symbol.asyncDispose]: async () => {
      ending.abort()
      await waiting
      await console?.[Symbol.asyncDispose]()
    },
  }
}

async function consoleOf(wiring: ConsoleWiring): Promise<Console> {
  const { shell, config, log, requests, roles, seat, metricsText } = wiring
  const { host, port, token } = config.console
  const elsewhere = remoteBackend(shell, config)
  const console = await openConsole({
    host,
    port,
    token,
    version: version(),
    clock: shell.clock,
    log,
    requests,
    settings: settingsOf(config),
    runLogs: runLogsOf(config.warehouse),
    backendOf: () => seat.backend ?? elsewhere,
    isReady: () => isReady({ requests, roles, seat }),
    metricsText,
  })
  log.guard(console.token)
  log.info({ address: console.address }, `the console listens at ${console.address}`)
  if (token === undefined) {
    const said = `The console is at ${console.address}; its token, made for this start: ${console.token.reveal()}\n`
    shell.err.write(`${said}Set TIDEMARK_CONSOLE_TOKEN to choose one that stays.\n`)
  }
  return console
}

/** The store answers; who schedules has set the schedules; who may own the warehouse owns it, or knows who does. */
async function isReady({
  requests,
  roles,
  seat,
}: Pick<ConsoleWiring, 'requests' | 'roles' | 'seat'>): Promise<boolean> {
  const schedulers = await requests.queue('ticks').getJobSchedulersCount()
  if (roles.has('schedule') && schedulers === 0) return false
  return !roles.has('load') || seat.isSettled
}

const settingsOf = ({ reports }: Config): AllSettings =>
  Object.fromEntries(
    reportNames.map((report) => {
      const { enabled, every, settleMs, overlapMs, start } = reports[report]
      return [report, { enabled, every, settleMs, overlapMs, start: formatInstant(start) }]
    }),
  ) as AllSettings
