/**
 * What a command has around work that it does itself, as a worker has around its own: the lines of each run are kept
 * beside the warehouse, so that `tidemark logs` finds them, and traces are sent where the standard variables ask for
 * them. Work that a worker does is kept and traced there.
 */
import type { RunKind } from '../../jobs/runs/runs.ts'
import { logOutcome } from '../../jobs/runs/runs.ts'
import { openTracing } from '../../jobs/tracing/tracing.ts'
import type { Config } from '../config/config.ts'
import { minusMs } from '../instant.ts'
import { createLog } from '../log.ts'
import { type Observe, observedBy } from '../observe.ts'
import { RunLogs, runLogsOf } from '../runLogs.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import { guardSecrets } from '../wiring/openContext.ts'
import type { Shell } from './shell.ts'
import { version } from '../wiring/version.ts'
import { type Loudness, type Voices, voices } from './voices.ts'
import { loggingWork } from '../wiring/workLog.ts'

export interface OwnWork extends Voices, AsyncDisposable {
  readonly observe: Observe
  /** Keeps what became of a run: on standard error only with `--json`, since people are told by the summary. */
  readonly tell: (kind: RunKind, outcome: ReportOutcome) => void
}

/** Closed, it has sent its spans and written its lines. */
export async function ownWork(shell: Shell, config: Config, loudness: Loudness): Promise<OwnWork> {
  const { clock, env } = shell
  const runLogs = new RunLogs(runLogsOf(config.warehouse), clock)
  const keep = (line: string) => runLogs.take(line)
  const { log, view } = voices(shell, loudness, keep)
  const unheard = createLog({ level: 'silent', keep })
  for (const each of [log, unheard]) guardSecrets(config, each)
  const tracing = await openTracing({ env, version: version(), log })
  const traced = tracing === undefined ? [] : [tracing.observe]
  return {
    log,
    view,
    observe: observedBy(...traced, loggingWork(log, clock)),
    tell: (kind, outcome) => logOutcome(loudness.json === true ? log : unheard, kind, outcome),
    [Symbol.asyncDispose]: async () => {
      await tracing?.[Symbol.asyncDispose]()
      await runLogs.written()
      // Where no worker ever runs, nobody else keeps them bounded; once an hour is often enough.
      if (runLogs.beganHour) await runLogs.trim(minusMs(clock.now(), config.historyMs))
    },
  }
}
