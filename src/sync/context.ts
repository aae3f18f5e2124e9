/**
 * What a run needs: client, warehouse, clock and others. The caller opens them, so that a simulation can replace them.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import type { Priority, ReportingClient } from '../client/reporting.ts'
import type { Clock } from '../clock.ts'
import type { Limits, ReportConfig } from '../config/config.ts'
import type { Observe } from '../observe.ts'
import type { Secret } from '../secret.ts'
import type { Fence, FenceRequest } from '../warehouse/books/fences.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { ReportOutcome } from './reportOutcome.ts'

/** The target of staged rows: the warehouse, or, in a process that does not own it, the hand-over to its owner. */
export type Loader = Pick<Warehouse, 'numberMark' | 'load'>

/** The parts that reading and proving windows needs. */
export interface WalkContext {
  readonly client: ReportingClient
  readonly warehouse: Loader
  readonly clock: Clock
  readonly settings: SyncSettings
  readonly onProgress: (progress: Progress) => void
  readonly signal: AbortSignal
  /** The priority of requests when permits are scarce: requests of a backfill wait for those of incremental runs. */
  readonly priority?: Priority | undefined
  /** The run's right to commit, once the run has one. */
  readonly fence?: Fence | undefined
  /** Observes runs, walks and loads. */
  readonly observe?: Observe | undefined
}

export interface SyncContext extends WalkContext {
  readonly warehouse: Warehouse
  /** Called at the end of each report. */
  readonly onOutcome?: (outcome: ReportOutcome) => void
}

export interface SyncSettings {
  readonly reports: Readonly<Record<ReportName, ReportConfig>>
  readonly currencies: readonly string[]
  readonly limits: Limits
  /** The highest number of concurrent requests of one walk. */
  readonly concurrency: number
  /** The client and its OAuth scopes. A report that was refused to another identity is tried again. */
  readonly identity: string
  readonly hashKey?: Secret | undefined
  readonly staging: string
}

export interface Progress {
  readonly report: ReportName
  readonly pages: number
  readonly rows: number
  /** The total that the service has returned, if any. */
  readonly rowsExpected?: number | undefined
  /** Identifier of the backfill; undefined in other runs, like `windows`. */
  readonly backfillId?: string | undefined
  readonly windows?: WindowsProgress | undefined
}

export interface WindowsProgress {
  readonly done: number
  readonly failed: number
  readonly total: number
  /** Estimated time to the end; undefined until the first window was read. */
  readonly msLeft?: number | undefined
}

/**
 * Returns the scopes of a report that are read one by one: its currencies, or `['']` for a report without currencies.
 */
export const scopesOf = (
  { currencies }: Pick<SyncSettings, 'currencies'>,
  { currency }: Pick<Declaration, 'currency'>,
): readonly string[] => (currency === undefined ? [''] : currencies)

/** Returns the client and its OAuth scopes as one text without a secret. */
export const identityOf = (service: { readonly clientId: string; readonly scopes?: readonly string[] }): string =>
  `${service.clientId} ${(service.scopes ?? []).toSorted().join(' ')}`.trim()

/**
 * Returns the context with a fence for this run: from now on, earlier runs of its kind and report can commit nothing. A
 * fence that the caller has taken for the run is kept.
 */
export async function withFence(context: SyncContext, request: FenceRequest): Promise<SyncContext> {
  const { fence, warehouse } = context
  if (fence !== undefined && fence.report === request.report && fence.kind === request.kind) return context
  return { ...context, fence: await warehouse.takeFence(request) }
}
