/** Opens the log and the traces of a process that executes an operation itself. */
import type { OnSilence } from './findWorker.ts'
import { openTracing } from '../../jobs/tracing/tracing.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { minusMs } from '../instant.ts'
import { createLog, type GuardedLog, type LogOptions } from '../log.ts'
import { observedBy } from '../observe.ts'
import { openRunLogs, runLogsOf } from '../runLogs.ts'
import { guardSecrets } from '../wiring/openContext.ts'
import { version } from '../wiring/version.ts'
import { loggingWork } from '../wiring/workLog.ts'

/** The process that requests operations: a command, or a program that uses the library. */
export interface Host {
  readonly config: Config
  readonly clock: Clock
  readonly env: NodeJS.ProcessEnv
  /** Opens the log. Its lines must be passed to `keep`, which stores them for `tidemark logs`. */
  readonly openLog: (keep: LogOptions['keep']) => GuardedLog
  readonly onSilence?: OnSilence
}

export type Surroundings = Awaited<ReturnType<typeof openSurroundings>>

export async function openSurroundings({ config, clock, env, openLog }: Host) {
  await using opening = new AsyncDisposableStack()
  const runLogs = openRunLogs(runLogsOf(config.warehouse), clock)
  // Deletes old log files. Without a worker, no other process would delete them.
  opening.defer(async () => {
    if (runLogs.needsTrim()) await runLogs.trim(minusMs(clock.now(), config.historyMs))
  })
  const keep = (line: string) => runLogs.take(line)
  const log = openLog(keep)
  const storedLog = createLog({ level: 'silent', keep })
  for (const each of [log, storedLog]) guardSecrets(config, each)
  const tracing = opening.use(await openTracing({ env, version: version(), log }))
  const opened = opening.move()
  return {
    log,
    /** Stores lines for `tidemark logs`, and prints none. */
    storedLog,
    observe: observedBy(...(tracing === undefined ? [] : [tracing.observe]), loggingWork(log, clock)),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
