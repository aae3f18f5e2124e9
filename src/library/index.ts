/** Tidemark as a library: `import { openTidemark } from 'tidemark'`. Importing it opens nothing and loads no database. */
import type { Sandbox, SandboxOptions } from '../sandbox/server.ts'
import type { Tidemark, TidemarkOptions } from './tidemark.ts'

export * from '../../schema/report.ts'
export { type ErrorCode, errorCodes, type Retry, SyncError } from '../errors.ts'
export type { AnswerOf, Outcome, Problem, Progress } from '../operations/contract.ts'
export type { PerformEvent } from '../operations/perform.ts'
export type { Status } from '../operations/readStatus.ts'
export type { VerifiedReport } from '../operations/verifyReports.ts'
export type { Sandbox, SandboxOptions } from '../sandbox/server.ts'
export type * from './tidemark.ts'

/** Reads the configuration, and opens no other file. Throws CONFIG_INVALID. */
export async function openTidemark(options: TidemarkOptions = {}): Promise<Tidemark> {
  return (await import('./tidemark.ts')).openTidemark(options)
}

/** Starts a local reporting service with generated rows. Disposing it ends it. */
export async function startSandbox(options?: SandboxOptions): Promise<Sandbox> {
  return (await import('../sandbox/server.ts')).startSandbox(options)
}
