/** What a process needs to execute an operation itself: its log, which `tidemark logs` reads, and its traces. */
import { openTracing } from '../../jobs/tracing/tracing.ts'
import { logOutcome } from '../../jobs/runs/runs.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { minusMs } from '../instant.ts'
import { createLog, type GuardedLog, type LogOptions } from '../log.ts'
import { observedBy } from '../observe.ts'
import { openRunLogs, runLogsOf } from '../runLogs.ts'
import { guardSecrets } from '../wiring/openContext.ts'
import { version } from '../wiring/version.ts'
import { loggingWork } from '../wiring/workLog.ts'
import type { Surroundings } from './engine.ts'

/** The process that requests operations: a command, or a program that uses the library. */
export interface Host {
  readonly config: Config
  readonly clock: Clock
  readonly env: NodeJS.ProcessEnv
  /** Opens the log. `keep` stores lines for `tidemark logs`, even if their level is not printed. */
  readonly openLog: (keep: LogOptions['keep']) => GuardedLog
}

/** Opens the log, the traces and the run logs. Disposing of the result waits until all traces are sent. */
export async function openSurroundings({ config, clock, env, openLog }: Host): Promise<Surroundings> {
  await using opening = new AsyncDisposableStack()
  const runLogs = openRunLogs(runLogsOf(config.warehouse), clock)
  // If no worker is running, processes like this one must delete old log files. They do so at most once an hour.
  opening.defer(async () => {
    if (runLogs.beganHour()) await runLogs.trim(minusMs(clock.now(), config.historyMs))
  })
  const keep = (line: string) => runLogs.take(line)
  const log = openLog(keep)
  const kept = createLog({ level: 'silent', keep })
  for (const each of [log, kept]) guardSecrets(config, each)
  const tracing = opening.use(await openTracing({ env, version: version(), log }))
  const opened = opening.move()
  return {
    log,
    observe: observedBy(...(tracing === undefined ? [] : [tracing.observe]), loggingWork(log, clock)),
    onEnded: (kind, outcome) => logOutcome(kept, kind, outcome),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
