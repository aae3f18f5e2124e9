/** The dependencies of a run, such as the client, warehouse and clock. */
import { z } from 'zod'
import { Report } from '../../schema/index.ts'
import type { BudgetSettings } from '../plan/requestBudget.ts'
import type { Declaration } from '../../schema/report.ts'
import type { Priority, ReportingClient } from '../client/reporting.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Observe } from '../observe.ts'
import type { Secret } from '../secret.ts'
import type { Fence, FenceRequest } from '../warehouse/books/fences.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { ReportOutcome } from './reportOutcome.ts'

/** Loads staged rows into the warehouse. `pullWindow` has a loader that moves the files to another process instead. */
export type Loader = Pick<Warehouse, 'numberPrefix' | 'load'>

export interface WalkContext {
  readonly client: ReportingClient
  readonly warehouse: Loader
  readonly clock: Clock
  readonly settings: SyncSettings
  readonly onProgress: (progress: Progress) => void
  readonly signal: AbortSignal
  readonly priority?: Priority | undefined
  /** This run's right to commit. Undefined until `withFence` is called. */
  readonly fence?: Fence | undefined
  readonly observe?: Observe | undefined
}

export interface SyncContext extends WalkContext {
  readonly warehouse: Warehouse
  readonly onOutcome?: (outcome: ReportOutcome) => void
}

/** The dependencies that all runs of a process share. Each run adds its own signal and callbacks. */
export type SharedContext = Omit<SyncContext, 'signal' | 'onProgress' | 'onOutcome' | 'fence'>

export interface SyncSettings
  extends Pick<Config, 'reports' | 'currencies' | 'limits' | 'staging' | 'rejectedKeepMs'>,
    Pick<Config['service'], 'baseUrl' | 'concurrency'>,
    Pick<BudgetSettings, 'requestsPerDay'> {
  readonly identity: string
  readonly clientSecret: Pick<Secret, 'shortHash'>
  readonly hashKey?: Secret | undefined
}

const count = z.number()

const WindowsProgress = z.object({
  done: count,
  failed: count,
  total: count,
  /** Estimated milliseconds until the backfill ends. Undefined until this run has read a window. */
  msLeft: count.optional(),
})
export type WindowsProgress = z.infer<typeof WindowsProgress>

export const Progress = z.object({
  report: Report,
  pages: count,
  rows: count,
  rowsExpected: count.optional(),
  /** Only backfills have `backfillId` and `windows`. */
  backfillId: z.string().optional(),
  windows: WindowsProgress.optional(),
})
/** How far a run has got. */
export interface Progress extends z.infer<typeof Progress> {}

export const scopesOf = ({ currencies }: Pick<SyncSettings, 'currencies'>, { currency }: Declaration) =>
  currency === undefined ? [''] : currencies

export const identityOf = (service: { readonly clientId: string; readonly scopes?: readonly string[] }): string =>
  `${service.clientId} ${(service.scopes ?? []).toSorted().join(' ')}`.trim()

/** Takes a fence, so that earlier runs of the same kind and report can't commit any more. */
export async function withFence(context: SyncContext, request: FenceRequest): Promise<SyncContext> {
  const { fence, warehouse } = context
  if (fence !== undefined && fence.report === request.report && fence.kind === request.kind) return context
  return { ...context, fence: await warehouse.takeFence(request) }
}
