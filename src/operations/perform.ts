/** The one place that decides where an operation is carried out: in the worker that owns the warehouse, or here. */
import type { RunKind } from '../../jobs/runs/runs.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { GuardedLog } from '../log.ts'
import type { Observe } from '../observe.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import type { ActingRequest, AnswerOf, OperationEvent } from './contract.ts'
import { findWorker } from './worker.ts'

/** What surrounds an operation while it is carried out. Closed when the operation has ended. */
export interface Surroundings extends AsyncDisposable {
  readonly tell: (event: OperationEvent) => void
  /** Used only by an operation in this process, as the next two. */
  readonly log: GuardedLog
  readonly observe?: Observe | undefined
  /** Called once for each run that has ended. */
  readonly onEnded: (kind: RunKind, outcome: ReportOutcome) => void
}

export interface PerformOptions {
  readonly config: Config
  readonly clock: Clock
  /** Ends the operation, or, when the worker carries it out, the wait for it. */
  readonly signal: AbortSignal
  /** Called when it is decided where the operation is carried out. */
  readonly begin: (where: 'worker' | 'here') => Promise<Surroundings>
}

/**
 * Carries out an operation and returns its answer. Errors: those of opening the warehouse; the one that the operation
 * ended in; CANCELLED. What failed for one report is part of the answer.
 */
export async function perform<R extends ActingRequest>(
  request: R,
  { config, clock, signal, begin }: PerformOptions,
): Promise<AnswerOf<R['do']>> {
  await using worker = await findWorker(config, clock)
  await using around = await begin(worker === undefined ? 'here' : 'worker')
  const caller = { tell: around.tell, signal }
  if (worker !== undefined) return await worker.ask(request, caller)
  const [{ openContext }, { OwnEngine }, { carryOut }] = await Promise.all([
    import('../wiring/openContext.ts'),
    import('./ownEngine.ts'),
    import('./operations.ts'),
  ])
  const { log, observe, onEnded } = around
  await using open = await openContext(config, { clock, signal, log, observe })
  const engine = new OwnEngine(open.context, { published: config.published, onEnded })
  const answer = await carryOut(engine, request, caller)
  signal.throwIfAborted()
  return answer
}
