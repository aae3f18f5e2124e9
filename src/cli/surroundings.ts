/** Performs a command's operation, with log, progress and traces, and prints its answer. */
import { logOutcome } from '../../jobs/runs/runs.ts'
import { openTracing } from '../../jobs/tracing/tracing.ts'
import { minusMs } from '../instant.ts'
import { createLog } from '../log.ts'
import { observedBy } from '../observe.ts'
import {
  type ActingRequest,
  type AnswerOf,
  errorFrom,
  type OperationEvent,
  type Progress,
} from '../operations/contract.ts'
import type { Surroundings } from '../operations/engine.ts'
import { perform, type Place } from '../operations/perform.ts'
import { RunLogs, runLogsOf } from '../runLogs.ts'
import { onAbort } from '../signals.ts'
import { guardSecrets } from '../wiring/openContext.ts'
import { version } from '../wiring/version.ts'
import { loggingWork } from '../wiring/workLog.ts'
import { type CommandResult, openOutputs, print } from './commandOutput.ts'
import { problemText } from './layout.ts'
import type { CommandOptions, ExitCode, Shell } from './shell.ts'

interface PerformSettings<R extends ActingRequest> extends CommandOptions {
  readonly request: R
  readonly onBegin?: (place: Place) => void
  readonly onProgress?: (progress: Progress) => void
}

const GOES_ON = 'The worker goes on with it; "tidemark status" shows how far it is.'

/**
 * Performs an operation, and prints the result that `resultOf` returns, and a failed publication. A command without
 * `--json` returns only a text. Then a failed publication is thrown. Throws the errors of `perform`, too.
 */
export async function performAndPrint<R extends ActingRequest>(
  shell: Shell,
  settings: PerformSettings<R>,
  resultOf: (answer: AnswerOf<R['do']>) => CommandResult | string,
): Promise<ExitCode> {
  const { request, config, onBegin, onProgress } = settings
  const begin = async (place: Place): Promise<Surroundings> => {
    onBegin?.(place)
    const around = await openSurroundings(shell, settings, place)
    const tell = (event: OperationEvent) => {
      if ('progress' in event) onProgress?.(event.progress)
      // Only `sync` prints an outcome as soon as its run ends. Other commands print all outcomes in their summary.
      if ('progress' in event || request.do === 'sync') around.tell(event)
    }
    return { ...around, tell }
  }
  const answer = await perform(request, { config, clock: shell.clock, signal: shell.stop.signal, begin })
  const { publishError } = answer
  const result = resultOf(answer)
  if (typeof result === 'string') {
    shell.out.write(result)
    if (publishError !== undefined) throw errorFrom(publishError)
    return 0
  }
  const { failed = false, document, text } = result
  return print(shell, settings, {
    failed: failed || publishError !== undefined,
    document: { ...document, publish_error: publishError },
    text: (width) => `${text(width)}${problemText('published copy', publishError)}`,
  })
}

/** If the command runs here, its log is stored for `tidemark logs`. Closing waits until all traces are sent. */
async function openSurroundings(shell: Shell, options: CommandOptions, place: Place): Promise<Surroundings> {
  const { clock, env, stop } = shell
  const { config, json = false } = options
  await using opening = new AsyncDisposableStack()
  const runLogs = new RunLogs(runLogsOf(config.warehouse), clock)
  // Without a worker, only commands delete old log files. They do so at most once an hour.
  opening.defer(async () => {
    if (runLogs.beganHour) await runLogs.trim(minusMs(clock.now(), config.historyMs))
  })
  const keep = place === 'here' ? (line: string) => runLogs.take(line) : undefined
  const { log, view } = openOutputs(shell, options, keep)
  const silent = createLog({ level: 'silent', keep })
  for (const each of [log, silent]) guardSecrets(config, each)
  const tracing = place === 'here' ? await openTracing({ env, version: version(), log }) : undefined
  if (place === 'worker') opening.use(stop.replaceMessage(GOES_ON))
  opening.use(tracing)
  opening.use(view)
  opening.use(onAbort(stop.signal, () => view[Symbol.dispose]()))
  const opened = opening.move()
  return {
    log,
    observe: observedBy(...(tracing === undefined ? [] : [tracing.observe]), loggingWork(log, clock)),
    tell: (event) => ('progress' in event ? view.onProgress(event.progress) : view.onOutcome(event.outcome)),
    // With `--json`, the progress view has already logged the outcomes of a sync, so they are not logged again.
    onEnded: (kind, outcome) => {
      if (!json) logOutcome(silent, kind, outcome)
      else if (kind !== 'incremental') logOutcome(log, kind, outcome)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
