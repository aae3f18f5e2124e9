/** Schemas of messages about operations. The receiver checks each message: the sender may run another version. */
import { z } from 'zod'
import { Report as report } from '../../schema/index.ts'
import { chosenTypes } from '../../schema/values.ts'
import { type ErrorCode, errorCodes, SyncError, usageError } from '../errors.ts'
import type { Instant } from '../instant.ts'
import { Standing } from '../status/standing.ts'
import type { BackfillOutcome } from '../sync/backfill/backfill.ts'
import type { BackfillPreview } from '../sync/backfill/backfillPlan.ts'
import { Progress } from '../sync/context.ts'
import type { LakeUpkeep } from '../warehouse/database/upkeep.ts'
import type { RetypedColumn } from '../warehouse/load/retypeColumn.ts'
import { named, OutcomeFacts, type ReportOutcome } from '../sync/reportOutcome.ts'

const reports = z.array(report).min(1)
const instant = z.custom<Instant>((value) => Number.isSafeInteger(value))
const count = z.number()

const range = z.strictObject({
  report,
  /** If undefined, the range begins at the configured start of the report. */
  from: instant.optional(),
  /** If undefined, the range ends now. */
  to: instant.optional(),
})
const backfills = z.array(range).min(1)

export const ActingRequest = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('sync'), reports }),
  z.strictObject({ do: z.literal('reconcile'), reports, allowMassDelete: z.boolean() }),
  z.strictObject({ do: z.literal('backfill'), backfills }),
  z.strictObject({ do: z.literal('pause'), reports }),
  // `onlyRefused` ends only the pauses after a refusal by the service, not pauses by an operator.
  z.strictObject({ do: z.literal('resume'), reports, onlyRefused: z.boolean().optional() }),
  z.strictObject({ do: z.literal('cancel'), id: z.string() }),
  z.strictObject({ do: z.literal('retry-rejected'), reports }),
  // Without `keys`, all rejected rows of the reports are dismissed.
  z.strictObject({ do: z.literal('dismiss-rejected'), reports, keys: z.array(z.string()).min(1).optional() }),
  z.strictObject({ do: z.literal('reset'), reports, empty: z.boolean().optional() }),
  z.strictObject({ do: z.literal('retype'), column: z.string(), type: z.enum(chosenTypes) }),
])
/** An operation that makes changes, such as `sync` or `pause`. @useDeclaredType */
export type ActingRequest = z.infer<typeof ActingRequest>

export const OperationRequest = z.discriminatedUnion('do', [
  ...ActingRequest.options,
  z.strictObject({ do: z.literal('plan-backfill'), backfills }),
  z.strictObject({ do: z.literal('status') }),
  // `activity` lists runs and queues without reading the warehouse, which a load may keep busy.
  z.strictObject({ do: z.literal('activity') }),
])
export type OperationRequest = z.infer<typeof OperationRequest>

export const SentRequest = z.object({ request: OperationRequest, by: z.string().max(300) })
export type SentRequest = z.infer<typeof SentRequest>

export type OperationName = OperationRequest['do']
export type RequestOf<Name extends OperationName> = Extract<OperationRequest, { do: Name }>

export const Problem = z.looseObject({ code: z.string(), message: z.string(), cure: z.string() })
/** An error in an answer, with the same fields as a `SyncError`. */
export interface Problem extends z.infer<typeof Problem> {}

export const problemOf = (error: SyncError): Problem => Problem.parse(error.toJSON())

/** Converts a problem from another process to an error. */
export function errorFrom({ code, message, cure, report: named, ...data }: Problem): SyncError {
  const known: ErrorCode = errorCodes.find((each) => each === code) ?? 'UNEXPECTED'
  return new SyncError(known, message, { cure, data, ...(typeof named === 'string' && { report: named }) })
}

export const workerLost = (what: string): SyncError =>
  new SyncError('WORKER_LOST', `the worker that owns the warehouse ${what}`, {
    cure: 'Look at its log, or restart it: the work continues when it is back. "tidemark status" shows where it is.',
  })

export const notUnderstood = (message: string): SyncError =>
  usageError(message, 'Restart the worker: its version or its settings are others.')

export const Outcome = OutcomeFacts.extend({ error: named<Problem>(Problem).optional() })
/** How one run of one report ended. */
export interface Outcome extends z.infer<typeof Outcome> {}

export const outcomeOf = ({ error, ...outcome }: ReportOutcome): Outcome =>
  error === undefined ? outcome : { ...outcome, error: problemOf(error) }

export type { Progress } from '../sync/context.ts'

const outcome = named<Outcome>(Outcome)

export const OperationEvent = z.union([z.object({ progress: named<Progress>(Progress) }), z.object({ outcome })])
/** The progress of a run, or its end. @useDeclaredType */
export type OperationEvent = z.infer<typeof OperationEvent>

const Publication = z.object({
  published: z.object({ path: z.string(), replaced: z.boolean() }).optional(),
  /** Why publishing failed. The operation still succeeds, because the rows are already in the warehouse. */
  publishError: named<Problem>(Problem).optional(),
})
export interface Publication extends z.infer<typeof Publication> {}

const ReconcileFound = z.object({ rows: count, missed: count, differed: count, absent: count, deleted: count })

const kind = z.enum(['incremental', 'backfill', 'reconcile'])

const RunningRun = z.object({ runId: z.string(), report, kind, startedAt: instant, progress: Progress.optional() })
export type RunningRun = z.infer<typeof RunningRun>

const WaitingRun = z.object({
  /** The identifier to pass to `cancel`. */
  id: z.string(),
  report: z.string(),
  kind,
})
export type WaitingRun = z.infer<typeof WaitingRun>

export const Activity = z.object({
  running: z.array(RunningRun),
  waiting: z.array(WaitingRun),
  queues: z.record(z.string(), z.object({ waiting: count, active: count, delayed: count, failed: count })),
})
export type Activity = z.infer<typeof Activity>

const NextTick = z.object({ work: z.enum(['incremental', 'reconcile']), report, atMs: count })

const RetriedReport = z.object({ report, tried: count, loaded: count, rejected: count, withheld: count.optional() })

export const ANSWERS = {
  sync: Publication.extend({ outcomes: z.array(outcome), marks: z.array(z.tuple([report, instant])) }),
  reconcile: Publication.extend({ compared: z.array(Outcome.extend({ found: ReconcileFound.optional() })) }),
  backfill: Publication.extend({ ends: z.array(Outcome.extend({ ended: plain<BackfillOutcome>().optional() })) }),
  pause: Publication.extend({ paused: z.array(report) }),
  resume: Publication.extend({ resumed: z.array(report) }),
  cancel: Publication.extend({ cancelled: z.string(), what: z.string(), isAlready: z.boolean().optional() }),
  'retry-rejected': Publication.extend({ retried: z.array(RetriedReport) }),
  'dismiss-rejected': Publication.extend({ dismissed: z.array(z.object({ report, rows: count })) }),
  reset: Publication.extend({ reset: z.array(z.object({ report, rows: count })) }),
  retype: Publication.extend({ retyped: plain<RetypedColumn>() }),
  'plan-backfill': z.object({ plans: z.array(plain<BackfillPreview>()) }),
  status: Activity.extend({
    standings: z.array(named<Standing>(Standing)),
    next: z.array(NextTick),
    console: z.string().optional(),
    upkeep: plain<LakeUpkeep>().optional(),
  }),
  activity: Activity,
} as const satisfies Record<OperationName, z.ZodType>

/** The answer of an operation. Example: `AnswerOf<'pause'>` has `paused` and the fields of `Publication`. */
export type AnswerOf<Name extends OperationName> = z.infer<(typeof ANSWERS)[Name]>

export const Reply = z.union([z.object({ error: Problem }), z.object({ result: z.unknown() })])
export type Reply = z.infer<typeof Reply>

function plain<T extends object>() {
  return z.custom<T>((value) => typeof value === 'object' && value !== null)
}
