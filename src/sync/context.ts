/** What a story needs from the other rooms: opened outside, passed in. Nothing is made here, so a simulation passes its own. */
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

/** Where staged rows go: the warehouse, or, in a process that doesn't own it, the hand-over to the one that does. */
export type Loader = Pick<Warehouse, 'numberMark' | 'load'>

/** What walking, proving and staging need. */
export interface WalkContext {
  readonly client: ReportingClient
  readonly warehouse: Loader
  readonly clock: Clock
  readonly settings: SyncSettings
  readonly onProgress: (progress: Progress) => void
  readonly signal: AbortSignal
  /** Whose questions go first where permits are scarce: a backfill's stand behind those of incremental runs. */
  readonly priority?: Priority | undefined
  /** The run's right to commit, once it has one. */
  readonly fence?: Fence | undefined
  /** Watches runs, walks and loads. */
  readonly observe?: Observe | undefined
}

export interface SyncContext extends WalkContext {
  readonly warehouse: Warehouse
  /** Told as each report ends. */
  readonly onOutcome?: (outcome: ReportOutcome) => void
}

export interface SyncSettings {
  readonly reports: Readonly<Record<ReportName, ReportConfig>>
  readonly currencies: readonly string[]
  readonly limits: Limits
  /** Requests that one walk keeps in flight. */
  readonly concurrency: number
  /** The client and its scopes: what was refused to one is tried again with another. */
  readonly identity: string
  /** With which hashed columns are made. */
  readonly hashKey?: Secret | undefined
  /** Directory for staged rows. */
  readonly staging: string
}

export interface Progress {
  readonly report: ReportName
  readonly pages: number
  readonly rows: number
  /** Rows that the service says there are, where it says so. */
  readonly rowsExpected: number | undefined
  /** Of a backfill. */
  readonly windows?: WindowsProgress
}

export interface WindowsProgress {
  readonly done: number
  readonly failed: number
  readonly total: number
  /** Undefined until a window was read. */
  readonly msLeft: number | undefined
}

/** What a windowed report is asked for by itself: each currency, or all of it at once. */
export const scopesOf = (
  { currencies }: Pick<SyncSettings, 'currencies'>,
  { currency }: Pick<Declaration, 'currency'>,
): readonly string[] => (currency === undefined ? [''] : currencies)

/** The client and its scopes as one text; no secret. */
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
