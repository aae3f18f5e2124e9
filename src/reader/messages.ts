/** The messages between a process and its reader process. Each request has one answer. Rows are sent in pieces before it. */
import type { SyncError } from '../errors.ts'
import type { Cell } from '../warehouse/database/cells.ts'
import type { LakePlace } from '../warehouse/database/lake.ts'
import type { LiveServerSettings } from './liveServer.ts'

/** What the reader process opens before it locks itself, and within which limits. */
export interface OpenRequest {
  readonly do: 'open'
  /** A file that is only read, or a lake. */
  readonly source: string | LakePlace
  readonly memory: string
  readonly disk: string
  readonly threads?: number | undefined
  /** The only file that this reader process may write. */
  readonly result?: string | undefined
}

export type Request =
  | OpenRequest
  /** Answered by the names of the columns. */
  | { readonly do: 'query'; readonly sql: string }
  /** Writes the rows to a Parquet file. Answered by their number. */
  | { readonly do: 'write'; readonly sql: string; readonly result: string }
  /** Starts the live server in this reader process. */
  | { readonly do: 'serve'; readonly settings: LiveServerSettings }
  | { readonly do: 'show' }
  /** Answered by the age (ms) of the oldest running statement. */
  | { readonly do: 'longest' }

/** Answers a piece of rows: whether the next one is wanted. */
export interface More {
  readonly more: boolean
}

export type Answer =
  | { readonly rows: readonly (readonly Cell[])[]; readonly columns: readonly string[] }
  | { readonly done: unknown }
  | { readonly failed: Readonly<Pick<SyncError, 'code' | 'message' | 'cure' | 'data'>> }
