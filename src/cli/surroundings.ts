/** Opens log, progress and traces for a command. If the command runs here, its log is stored for `tidemark logs`. */
import { logOutcome } from '../../jobs/runs/runs.ts'
import { openTracing } from '../../jobs/tracing/tracing.ts'
import type { Config } from '../config/config.ts'
import { minusMs } from '../instant.ts'
import { createLog } from '../log.ts'
import { observedBy } from '../observe.ts'
import type { ActingRequest, AnswerOf, OperationEvent, Progress } from '../operations/contract.ts'
import { perform, type Surroundings } from '../operations/perform.ts'
import { RunLogs, runLogsOf } from '../runLogs.ts'
import { guardSecrets } from '../wiring/openContext.ts'
import { version } from '../wiring/version.ts'
import { loggingWork } from '../wiring/workLog.ts'
import type { ProgressView } from './progress.ts'
import type { Shell } from './shell.ts'
import { type OutputOptions, openOutputs } from './commandOutput.ts'

export interface CommandSettings {
  readonly config: Config
  readonly output: OutputOptions
  readonly onBegin?: (where: 'worker' | 'here') => void
  readonly onProgress?: (progress: Progress) => void
}

const GOES_ON = 'The worker goes on with it; "tidemark status" shows how far it is.'

/** Throws the errors of `perform`. */
export function performFor<R extends ActingRequest>(
  shell: Shell,
  settings: CommandSettings,
  request: R,
): Promise<AnswerOf<R['do']>> {
  const { clock, stop } = shell
  const { config, onBegin, onProgress } = settings
  return perform(request, {
    config,
    clock,
    signal: stop.signal,
    begin: async (where) => {
      onBegin?.(where)
      const around = where === 'here' ? await ownSurroundings(shell, settings) : inWorker(shell, settings)
      const tell = (event: OperationEvent) => {
        if ('progress' in event) onProgress?.(event.progress)
        // Only `sync` prints an outcome as soon as its run ends. Other commands print all outcomes in their summary.
        if ('progress' in event || request.do === 'sync') around.tell(event)
      }
      return { ...around, tell }
    },
  })
}

function inWorker(shell: Shell, { output }: CommandSettings): Surroundings {
  const elsewhere = shell.stop.replaceMessage(GOES_ON)
  const { log, view } = openOutputs(shell, output)
  clearOnStop(shell, view)
  return {
    log,
    tell: (event) => show(view, event),
    onEnded: () => undefined,
    [Symbol.asyncDispose]: async () => {
      view[Symbol.dispose]()
      elsewhere[Symbol.dispose]()
    },
  }
}

/** Closing waits until all traces are sent and all log lines are written. */
async function ownSurroundings(shell: Shell, { config, output }: CommandSettings): Promise<Surroundings> {
  const { clock, env } = shell
  const runLogs = new RunLogs(runLogsOf(config.warehouse), clock)
  const keep = (line: string) => runLogs.take(line)
  const { log, view } = openOutputs(shell, output, keep)
  clearOnStop(shell, view)
  const silent = createLog({ level: 'silent', keep })
  for (const each of [log, silent]) guardSecrets(config, each)
  const tracing = await openTracing({ env, version: version(), log })
  const traced = tracing === undefined ? [] : [tracing.observe]
  return {
    log,
    observe: observedBy(...traced, loggingWork(log, clock)),
    tell: (event) => show(view, event),
    // With `--json`, the progress view has already logged the outcomes of a sync, so they are not logged again.
    onEnded: (kind, outcome) => {
      if (output.json !== true) logOutcome(silent, kind, outcome)
      else if (kind !== 'incremental') logOutcome(log, kind, outcome)
    },
    [Symbol.asyncDispose]: async () => {
      view[Symbol.dispose]()
      await tracing?.[Symbol.asyncDispose]()
      // Without a worker, only commands delete old log files. They do so at most once an hour.
      if (runLogs.beganHour) await runLogs.trim(minusMs(clock.now(), config.historyMs))
    },
  }
}

const clearOnStop = ({ stop }: Shell, view: ProgressView): void =>
  stop.signal.addEventListener('abort', () => view[Symbol.dispose](), { once: true })

const show = (view: ProgressView, event: OperationEvent): void =>
  'progress' in event ? view.onProgress(event.progress) : view.onOutcome(event.outcome)
