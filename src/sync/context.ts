/** The context of a run: client, warehouse, clock and others. The caller opens them; a simulation may replace them. */
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

/** Where staged rows are loaded: the warehouse or, in a process that does not own it, the hand-over to its owner. */
export type Loader = Pick<Warehouse, 'numberMark' | 'load'>

/** Everything that is needed to read windows and to prove them complete. */
export interface WalkContext {
  readonly client: ReportingClient
  readonly warehouse: Loader
  readonly clock: Clock
  readonly settings: SyncSettings
  readonly onProgress: (progress: Progress) => void
  readonly signal: AbortSignal
  /** The priority of requests that wait for a permit: those of incremental runs are sent before those of a backfill. */
  readonly priority?: Priority | undefined
  /** The run's right to commit. Undefined until the run has begun. */
  readonly fence?: Fence | undefined
  /** Called around each run, walk and load, for metrics and traces. */
  readonly observe?: Observe | undefined
}

export interface SyncContext extends WalkContext {
  readonly warehouse: Warehouse
  /** Called when the run of a report has ended. */
  readonly onOutcome?: (outcome: ReportOutcome) => void
}

export interface SyncSettings {
  readonly reports: Readonly<Record<ReportName, ReportConfig>>
  readonly currencies: readonly string[]
  readonly limits: Limits
  /** The maximum number of requests that one walk sends at the same time. */
  readonly concurrency: number
  /** The client identifier with its OAuth scopes. If these change, reports that the service refused are tried again. */
  readonly identity: string
  readonly hashKey?: Secret | undefined
  readonly staging: string
}

export interface Progress {
  readonly report: ReportName
  readonly pages: number
  readonly rows: number
  /** The total that the service has returned; undefined if it returns none. */
  readonly rowsExpected?: number | undefined
  /** Identifier of the backfill; undefined in other kinds of runs, as is `windows`. */
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

/** Returns the scopes of a report, which are read one by one: its currencies, or `['']` if it has none. */
export const scopesOf = (
  { currencies }: Pick<SyncSettings, 'currencies'>,
  { currency }: Pick<Declaration, 'currency'>,
): readonly string[] => (currency === undefined ? [''] : currencies)

/** Returns the client identifier and its OAuth scopes as one text, without the secret. */
export const identityOf = (service: { readonly clientId: string; readonly scopes?: readonly string[] }): string =>
  `${service.clientId} ${(service.scopes ?? []).toSorted().join(' ')}`.trim()

/**
 * Returns the context with a fence for this run: from now on, earlier runs of the same kind and report can't commit. If
 * the caller has already taken a fence for the run, returns the context with that one.
 */
export async function withFence(context: SyncContext, request: FenceRequest): Promise<SyncContext> {
  const { fence, warehouse } = context
  if (fence !== undefined && fence.report === request.report && fence.kind === request.kind) return context
  return { ...context, fence: await warehouse.takeFence(request) }
}
