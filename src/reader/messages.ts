/** The messages between a process and its reader process. The rows of a query are sent in parts, before `done`. */
import type { SyncError } from '../errors.ts'
import type { Cell } from '../warehouse/database/cells.ts'
import type { LakePlace } from '../warehouse/database/lake.ts'
import type { LiveServerSettings } from './liveServer.ts'
import type { Warrant } from './warrants.ts'

export interface OpenRequest {
  readonly do: 'open'
  readonly source: string | LakePlace
  readonly memory: string
  readonly disk: string
  readonly threads?: number | undefined
  /** The only file that this reader process is allowed to write. */
  readonly result?: string | undefined
}

/** Information that follows the rows of a query: the column names, and how complete the query's reports are. */
export interface QueryEnd {
  readonly columns: readonly string[]
  readonly warrants: readonly Warrant[]
  /** True if the query ended early because of the limit `charsMax`. */
  readonly isCut: boolean
}

export type Request =
  | OpenRequest
  /** The answer is a `QueryEnd`. */
  | { readonly do: 'query'; readonly sql: string; readonly charsMax?: number | undefined }
  /** The answer is the number of rows. */
  | { readonly do: 'write'; readonly sql: string; readonly result: string }
  | { readonly do: 'serve'; readonly settings: LiveServerSettings }
  | { readonly do: 'show' }
  | { readonly do: 'oldestStatementMs' }

export interface More {
  readonly more: boolean
}

export type Answer =
  | { readonly rows: readonly (readonly Cell[])[]; readonly columns: readonly string[] }
  | { readonly done: unknown }
  | { readonly failed: Readonly<Pick<SyncError, 'code' | 'message' | 'cure' | 'data'>> }
