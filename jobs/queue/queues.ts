/** The queues and their jobs. A job contains no rows and no secrets. */
import type { JobsOptions } from 'bullmq'
import { z } from 'zod'
import { Report as report } from '../../schema/index.ts'
import { MINUTE_MS } from '../../src/instant.ts'
import type { WindowRequest } from '../../src/sync/backfill/handover.ts'

/** Only the owner of the warehouse takes jobs from these queues. */
export const OWNER_QUEUES = ['incremental', 'reconcile', 'backfill', 'housekeeping', 'notices', 'control'] as const

export const QUEUES = ['ticks', 'windows', ...OWNER_QUEUES] as const

export type QueueName = (typeof QUEUES)[number]

export const Tick = z.union([
  z.strictObject({ work: z.enum(['incremental', 'reconcile']), report, others: z.array(report).optional() }),
  z.strictObject({ work: z.enum(['checkpoint', 'retention']) }),
])
export type Tick = z.infer<typeof Tick>

/** `isTick` marks a run that the schedule requested. Such a run may be skipped to save requests. */
export const IncrementalJob = z.strictObject({ report, isTick: z.literal(true).optional() })
export type IncrementalJob = z.infer<typeof IncrementalJob>

export const ReconcileJob = z.strictObject({ report, allowMassDelete: z.boolean().default(false) })
export type ReconcileJob = z.infer<typeof ReconcileJob>

/** `from` and `to` are microseconds since 1970. */
export const BackfillJob = z.strictObject({ backfillId: z.string().min(1), report, from: z.number(), to: z.number() })
export type BackfillJob = z.infer<typeof BackfillJob>

export const WindowJob = z.strictObject({
  ask: z.custom<WindowRequest>((value) => typeof value === 'object' && value !== null),
  isUnwanted: z.literal(true).optional(),
})
export type WindowJob = z.infer<typeof WindowJob>

export const WindowResult = z.object({ directory: z.string() })

export const HousekeepingJob = z.strictObject({ work: z.enum(['publish', 'checkpoint', 'retention']) })
export type HousekeepingJob = z.infer<typeof HousekeepingJob>

export const NoticesJob = z.strictObject({ receiver: z.string() })
export type NoticesJob = z.infer<typeof NoticesJob>

const TRIES = { attempts: 6, backoff: { type: 'custom' } } as const satisfies JobsOptions

export const JOB_OPTIONS = {
  // Each tick begins a trace of its own. Otherwise all ticks would belong to one endless trace.
  ticks: { attempts: 3, backoff: { type: 'custom' }, telemetry: { omitContext: true } },
  incremental: TRIES,
  reconcile: TRIES,
  backfill: { attempts: 20, backoff: { type: 'custom' } },
  windows: { attempts: 2, backoff: { type: 'custom' } },
  housekeeping: TRIES,
  // A message is retried until it is delivered.
  notices: { attempts: 1_000_000, backoff: { type: 'custom' } },
  control: { attempts: 1 },
} as const satisfies Record<QueueName, JobsOptions>

/** The largest difference between the clocks of two machines that is not treated as a wrong clock. */
export const CLOCKS_APART_MS_MAX = 5 * MINUTE_MS
