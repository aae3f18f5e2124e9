/** Tidemark as a library: `import { openTidemark } from 'tidemark'`. The import opens nothing and loads no database. */
import type { Sandbox, SandboxOptions } from '../sandbox/server.ts'
import type { Tidemark, TidemarkOptions } from './tidemark.ts'

export { boolean, dateTime, decimal, integer, json, string } from '../../schema/report.ts'
export { defineReport, many, manyOf, one } from '../../schema/report.ts'
export type { ReportName } from '../../schema/index.ts'
export type { Collection, Declaration, DeclarationInput, Field, FieldType } from '../../schema/report.ts'
export { type ErrorCode, errorCodes, type Retry, SyncError } from '../errors.ts'
export type { Instant } from '../instant.ts'
export type { ActingRequest, AnswerOf, OperationEvent, Outcome, Problem, Progress } from '../operations/contract.ts'
export type { PerformEvent, Place } from '../operations/perform.ts'
export type { Changes } from '../operations/readChanges.ts'
export type { Status, WorkerStatus } from '../operations/readStatus.ts'
export type { VerifiedReport } from '../operations/verifyReports.ts'
export type { QueryEnd } from '../reader/messages.ts'
export type { Warrant } from '../reader/warrants.ts'
export type { Sandbox, SandboxClient, SandboxOptions } from '../sandbox/server.ts'
export type { Standing } from '../status/standing.ts'
export type { BackfillOutcome } from '../sync/backfill/backfill.ts'
export type { BackfillPreview } from '../sync/backfill/backfillPlan.ts'
export type { NamedBackfill } from '../sync/backfill/backfillRequest.ts'
export type { Figures } from '../sync/reportOutcome.ts'
export type { ScopeComparison } from '../sync/verify.ts'
export type { BackfillFigures, BackfillRange, BackfillState } from '../warehouse/books/backfills.ts'
export type { BookedWindow, PlannedWindow } from '../warehouse/books/backfills.ts'
export type { Cell } from '../warehouse/database/cells.ts'
export type { LakeFigures, LakeUpkeep } from '../warehouse/database/upkeep.ts'
export type { TakeRows } from '../warehouse/database/duckdb.ts'
export type { Deviation } from '../warehouse/publish/compareWindow.ts'
export type * from './tidemark.ts'

/** Reads the configuration and its secrets. Does not open the warehouse. Throws CONFIG_INVALID. */
export async function openTidemark(options: TidemarkOptions = {}): Promise<Tidemark> {
  return (await import('./tidemark.ts')).openTidemark(options)
}

/** Starts a local reporting service with generated rows. The service ends when the result is disposed. */
export async function startSandbox(options?: SandboxOptions): Promise<Sandbox> {
  return (await import('../sandbox/server.ts')).startSandbox(options)
}
