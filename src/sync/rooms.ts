/** What a story needs from the other rooms: opened outside, passed in. Types only, so a simulation passes its own. */
import type { ReportName } from '../../schema/index.ts'
import type { ReportingClient } from '../client/reporting.ts'
import type { Clock } from '../clock.ts'
import type { Limits, ReportConfig } from '../config/config.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { ReportOutcome } from './outcome.ts'

export interface Rooms {
  readonly client: ReportingClient
  readonly warehouse: Warehouse
  readonly clock: Clock
  readonly settings: SyncSettings
  readonly onProgress: (progress: Progress) => void
  /** Told as each report ends. */
  readonly onOutcome?: (outcome: ReportOutcome) => void
  readonly signal: AbortSignal
}

export interface SyncSettings {
  readonly reports: Readonly<Record<ReportName, ReportConfig>>
  readonly currencies: readonly string[]
  readonly limits: Limits
  /** Requests that one walk keeps in flight. */
  readonly concurrency: number
  /** The client and its scopes: what was refused to one is tried again with another. */
  readonly identity: string
  /** Directory for staged rows. */
  readonly staging: string
}

export interface Progress {
  readonly report: ReportName
  readonly pages: number
  readonly rows: number
  /** Rows that the service says there are, where it says so. */
  readonly rowsExpected: number | undefined
}

/** The client and its scopes as one text; no secret. */
export const identityOf = (service: { readonly clientId: string; readonly scopes?: readonly string[] }): string =>
  `${service.clientId} ${(service.scopes ?? []).toSorted().join(' ')}`.trim()
