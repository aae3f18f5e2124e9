/** What a command may ask of the worker; checked where it arrives, whichever way it came. */
import { z } from 'zod'
import { reportNames } from '../../schema/index.ts'
import type { Instant } from '../../src/instant.ts'

const reports = z.array(z.enum(reportNames)).min(1)

const instant = z.custom<Instant>((value) => Number.isSafeInteger(value))

const backfill = z.strictObject({
  report: z.enum(reportNames),
  from: instant.optional(),
  to: instant.optional(),
})

export const ControlRequest = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('sync'), reports }),
  z.strictObject({ do: z.literal('reconcile'), reports, allowMassDelete: z.boolean() }),
  z.strictObject({ do: z.literal('backfill'), backfills: z.array(backfill).min(1) }),
  // What a backfill would do; nothing is written.
  z.strictObject({ do: z.literal('plan-backfill'), backfills: z.array(backfill).min(1) }),
  z.strictObject({ do: z.literal('pause'), reports }),
  // `onlyRefused`: what an operator paused stays paused.
  z.strictObject({ do: z.literal('resume'), reports, onlyRefused: z.boolean().optional() }),
  z.strictObject({ do: z.literal('cancel'), id: z.string().min(1) }),
  z.strictObject({ do: z.literal('retry-rejected'), reports }),
  z.strictObject({ do: z.literal('status') }),
  // What runs and waits, without a look into the books.
  z.strictObject({ do: z.literal('activity') }),
])

export type ControlRequest = z.infer<typeof ControlRequest>
