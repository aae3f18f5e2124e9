/** Performs a command's operation through the library, shows its progress, and prints its answer. */
import { Tidemark } from '../library/tidemark.ts'
import type { Run } from '../library/run.ts'
import { createLog } from '../log.ts'
import { type ActingRequest, errorFrom, type Progress, type Publication } from '../operations/contract.ts'
import type { PerformEvent, Place } from '../operations/perform.ts'
import type { Host } from '../operations/surroundings.ts'
import { onAbort } from '../signals.ts'
import { guardSecrets } from '../wiring/openContext.ts'
import { type CommandResult, openOutputs, print } from './commandOutput.ts'
import { problemText } from './layout.ts'
import { type ProgressView, silentProgress } from './progress.ts'
import type { CommandOptions, ExitCode, Shell } from './shell.ts'

export const tidemarkOf = (
  { clock, env, onSilence }: Shell & Pick<Host, 'onSilence'>,
  { config }: Pick<CommandOptions, 'config'>,
  openLog: Host['openLog'] = () => createLog({ level: 'silent' }),
): Tidemark => new Tidemark({ config, clock, env, openLog, ...(onSilence && { onSilence }) })

export const starting =
  <R extends ActingRequest>(request: R) =>
  (tidemark: Tidemark, signal: AbortSignal) =>
    tidemark.perform(request, { signal })

interface PerformSettings<Answer> extends CommandOptions {
  readonly start: (tidemark: Tidemark, signal: AbortSignal) => Run<Answer, PerformEvent>
  /** Whether each outcome is printed when its run ends. Default: true with `--json`, otherwise false. */
  readonly showsOutcomes?: boolean
  readonly onPlace?: (place: Place) => void
  readonly onProgress?: (progress: Progress) => void
}

const GOES_ON = 'The worker goes on with it; "tidemark status" shows how far it is.'

/** Performs an operation and prints its result and publication error. If the result is text, throws the error. */
export async function performAndPrint<Answer extends Publication>(
  shell: Shell,
  settings: PerformSettings<Answer>,
  resultOf: (answer: Answer) => CommandResult | string,
): Promise<ExitCode> {
  const answer = await perform(shell, settings)
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

async function perform<Answer>(shell: Shell, settings: PerformSettings<Answer>): Promise<Answer> {
  const { start, config, json = false, showsOutcomes = json, onPlace, onProgress } = settings
  const { signal } = shell.stop
  let view: ProgressView = silentProgress
  using shown = new DisposableStack()
  const openLog: Host['openLog'] = (keep) => {
    const outputs = openOutputs(shell, settings, keep)
    view = shown.use(outputs.view)
    shown.use(onAbort(signal, () => view[Symbol.dispose]()))
    return outputs.log
  }
  await using tidemark = tidemarkOf(shell, settings, openLog)
  const run = start(tidemark, signal)
  for await (const event of run) {
    if ('place' in event) {
      onPlace?.(event.place)
      if (event.place === 'here') continue
      guardSecrets(config, openLog(undefined))
      shown.use(shell.stop.replaceMessage(GOES_ON))
    } else if ('progress' in event) {
      onProgress?.(event.progress)
      view.onProgress(event.progress)
    } else if (showsOutcomes) view.onOutcome(event.outcome)
  }
  return await run
}
