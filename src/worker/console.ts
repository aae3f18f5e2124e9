/** Opens a worker's console. Only one worker per machine can use the port. */
import type { QueueStore } from '../../jobs/stores/store.ts'
import type { Config } from '../config/config.ts'
import { openConsole, type Console, type ConsoleOptions } from '../console/console.ts'
import { asSyncError } from '../errors.ts'
import type { GuardedLog } from '../log.ts'
import { runLogsOf } from '../runLogs.ts'
import { openReader } from '../reader/reader.ts'
import { version } from '../wiring/version.ts'
import { receiversBehind } from '../status/receivers.ts'
import { openChanges } from '../operations/readChanges.ts'
import { waitForReports } from '../operations/waitForReports.ts'
import { remoteBackend } from './consoleBackends.ts'
import type { Role } from './roles.ts'
import { readinessCheck, type WarehouseOwnership } from './readiness.ts'

export interface ConsoleWiring extends Pick<ConsoleOptions, 'clock' | 'queues' | 'metricsText'> {
  readonly err: { write(text: string): void }
  readonly config: Config
  readonly log: GuardedLog
  readonly store: Pick<QueueStore, 'checkWritable'>
  readonly roles: ReadonlySet<Role>
  readonly ownership: WarehouseOwnership
}

const RETRY_MS = 5_000

/** Opens the console. If its port is taken: throws with `isRequired`, otherwise tries again until the port is free. */
export async function startConsole(wiring: ConsoleWiring, isRequired: boolean) {
  const { log, clock } = wiring
  const ending = new AbortController()
  let console = await consoleOf(wiring).catch((error: unknown) => {
    if (isRequired || asSyncError(error).code !== 'CONSOLE_PORT_TAKEN') throw error
    log.warn(`${asSyncError(error).message}: this worker continues without a console until the port is free`)
    return undefined
  })
  const waiting = (async () => {
    while (console === undefined) {
      await clock.sleep(RETRY_MS, ending.signal).catch(() => undefined)
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
  const { err, clock, config, log, queues, ownership, metricsText } = wiring
  const { token } = config.console
  const remote = remoteBackend(config, clock)
  const console = await openConsole({
    ...config.console,
    version: version(),
    clock,
    log,
    queues,
    settings: config.reports,
    requestsPerDay: config.requestsPerDay,
    runLogs: runLogsOf(config.warehouse),
    editedKeys: config.source.editedKeys,
    receiversBehind: () => receiversBehind(config),
    openChanges: (request, signal) => openChanges(config, request, signal),
    waitFor: (request, signal) => waitForReports(config, request, { clock, signal }),
    newReader: () => openReader(config),
    backendOf: () => ownership.owned?.backend ?? remote,
    isReady: readinessCheck({ ...wiring, warehouse: config.warehouse }),
    metricsText,
  })
  log.guard(console.token)
  if (config.console.viewToken !== undefined) log.guard(config.console.viewToken)
  log.info({ address: console.address }, `the console listens at ${console.address}`)
  if (token === undefined) {
    const line = `The console is at ${console.address}; its token for this start is ${console.token.reveal()}\n`
    err.write(`${line}To use the same token after a restart, set TIDEMARK_CONSOLE_TOKEN.\n`)
  }
  return console
}
