/**
 * What the console stands on: whoever can answer for the warehouse. In the process that owns it that is the owner
 * itself; in any other one it is the published copy for reading and the owner, asked through the queue, for acting. The
 * console lives as long as its process, the desk changes with the ownership.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Answer, Asking } from '../../jobs/control/control.ts'
import type { ControlRequest } from '../../jobs/control/controlRequest.ts'
import type { RunningDocument } from '../../jobs/owner/runs.ts'
import type { Standing } from './api/shapes.ts'

export interface Reader {
  rows<T>(sql: string): Promise<T[]>
}

export interface Desk {
  /** This process holds the warehouse. */
  readonly isOwner: boolean
  /** The operations of the command line; errors are answers too. */
  answer(request: ControlRequest, asking: Asking): Promise<Answer>
  /** The books, as far as they can be read now. */
  readonly books: Reader
  /** What `tidemark status --json` says of each report. */
  standings(): Promise<readonly Standing[]>
  /** Runs of this process, and how many have begun so far; none where it is not the owner. */
  running(): readonly RunningDocument[]
  begun(): number
}

/** The rhythm of a report, as it is configured. */
export interface ReportSettings {
  readonly enabled: boolean
  readonly every: string
  readonly settleMs: number
  readonly overlapMs: number
  readonly start: string
}

export type AllSettings = Readonly<Record<ReportName, ReportSettings>>
