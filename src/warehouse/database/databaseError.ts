/** Recognizes DuckDB's errors by their text, because DuckDB has no error codes, and converts them to Tidemark's. */
import { asSyncError, cancelled, type ErrorCode, filesExhausted, isOutOfFiles, SyncError } from '../../errors.ts'
import { systemClock } from '../../clock.ts'
import { STORAGE_FAULT, storageError } from './storage.ts'

export const OUT_OF_MEMORY = /Out of Memory Error|Allocation failure|bad_alloc/i

const CATALOGUE_LOST =
  /Unable to connect to Postgres|connection to server|server closed the connection|no connection to the server|could not (?:receive data from|send data to) server|Failed to execute query "(?:BEGIN|COMMIT|ROLLBACK)/

/** Errors about a table of the catalogue that another process dropped. Only PostgreSQL causes the second one. */
const DROPPED = /ducklake_inlined_data_\d+_\d+\W+does not exist/
const DROPPED_IN_POSTGRES = /^INTERNAL Error: Attempted to access index 0 within vector of size 0/

/** Returns whether the error shows that DuckLake reads a dropped table. The lake must be attached again then. */
export const isOutdated = (message: string, path: string): boolean =>
  DROPPED.test(message) || (path.startsWith('ducklake:') && DROPPED_IN_POSTGRES.test(message))

/** The last line of PostgreSQL's error. Earlier lines quote statements, whose values can contain any text. */
const NOT_PERMITTED = /": ERROR: +((?:permission denied|must be owner)[^\n]*)\s*$/

const NOT_OPENED = /unable to open|Cannot open file|No such file|does not exist|Is a directory/i

interface FileError {
  readonly matches: (message: string, path: string) => boolean
  readonly code: ErrorCode
  /** Returns what happened. `line` is the first line of DuckDB's message. */
  readonly what: (path: string, line: string) => string
  readonly cure: (path: string) => string
}

/** The first one that matches applies. */
const FILE_ERRORS: readonly FileError[] = [
  {
    matches: (message) => OUT_OF_MEMORY.test(message) && !/No space left/.test(message),
    code: 'WAREHOUSE_MEMORY',
    what: (_, line) => `DuckDB has reached its memory limit: ${line}`,
    cure: () =>
      'Raise limits.warehouse_memory (for export and verify limits.query_memory), for instance to 2GB, and run it again: the unfinished load stored nothing, and committed rows are safe.',
  },
  {
    matches: (message) => /No space left on device|disk.*full|failed to offload|ENOSPC/i.test(message),
    code: 'DISK_FULL',
    what: (path) => `no space is left for ${path}`,
    cure: () => 'Free some space and run it again: the unfinished load stored nothing, and committed rows are safe.',
  },
  {
    // Someone has replaced the database file, but not its log.
    matches: (message) => /replaying WAL file|WAL was created for/.test(message),
    code: 'WAREHOUSE_CORRUPT',
    what: (path, line) => `${path} and ${path}.wal do not belong together: ${line}`,
    cure: (path) =>
      `If ${path} has replaced another file, move ${path}.wal away. Otherwise restore both files from a backup, or move both away.`,
  },
  {
    matches: (message, path) =>
      isCorrupt(message) || (/Could not read enough bytes/.test(message) && message.includes(path)),
    code: 'WAREHOUSE_CORRUPT',
    what: (path, line) => `${path} is not a file that DuckDB can read: ${line}`,
    cure: () =>
      'If it is no warehouse, name another path in the configuration. Otherwise restore it from a backup or from the published copy, or move it away: the next sync then creates a new file and reads all rows again.',
  },
  {
    matches: (message) => /newer version of DuckDB|version number \d+, but we can only read/.test(message),
    code: 'WAREHOUSE_NEWER',
    what: (path, line) => `${path} was written by a newer DuckDB: ${line}`,
    cure: () => 'Run the newer Tidemark that wrote it.',
  },
  {
    matches: (message) => /Failed to create directory/.test(message),
    code: 'WAREHOUSE_MISSING',
    what: (_, line) => line,
    cure: () => 'Name a folder where this user can create files.',
  },
  {
    matches: (message, path) => /Is a directory/i.test(message) && message.includes(path),
    code: 'WAREHOUSE_MISSING',
    what: (path) => `${path} is a folder`,
    cure: (path) => `Name a file, such as ${path}/warehouse.duckdb.`,
  },
  {
    matches: (message, path) => NOT_OPENED.test(message) && message.includes(path),
    code: 'WAREHOUSE_MISSING',
    what: (path, line) => `${path} cannot be opened: ${line}`,
    cure: () =>
      'Check that its folder exists and that this user can create files there, or name another path; "tidemark sync" creates a missing warehouse.',
  },
  {
    matches: (message) => /Cannot open file .*: Permission denied/.test(message),
    code: 'WAREHOUSE_MISSING',
    what: (_, line) => line,
    cure: () => 'Allow this user to open this file and the folders above it.',
  },
]

/** Converts a DuckDB error. Recognizes the messages of DuckDB 1.5. */
export function databaseError(thrown: unknown, path: string): SyncError {
  if (thrown instanceof SyncError) return thrown
  if (isOutOfFiles(thrown)) return filesExhausted(thrown)
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if (STORAGE_FAULT.test(message)) return storageError(message, thrown)
  const ofLake = lakeError(message, path)
  if (ofLake !== undefined) return ofLake
  const [holder = ''] = /Conflicting lock is held in .*?\(PID \d+\)/.exec(message) ?? []
  if (/Could not set lock on file/.test(message)) return lockedError(path, `another process. ${holder}`)
  const known = FILE_ERRORS.find(({ matches }) => matches(message, path))
  if (known === undefined)
    return /Interrupted|INTERRUPT/.test(message)
      ? cancelled('the statement was stopped on request')
      : asSyncError(thrown)
  const { code, what, cure } = known
  return new SyncError(code, what(path, firstLine(message)), { cure: cure(path), data: { path }, cause: thrown })
}

/**
 * Quotes only a short part of the message, which can contain rows and the catalogue's password. Must run before
 * `isCorrupt`, because a quoted row could look like damage.
 */
function lakeError(message: string, path: string): SyncError | undefined {
  const [, right] = NOT_PERMITTED.exec(message) ?? []
  if (right !== undefined) {
    const cure = 'To load, use the user that owns the catalogue. To read, grant SELECT. docs/LAKE.md lists all rights.'
    return new SyncError('WAREHOUSE_MISSING', `PostgreSQL refuses ${path}: ${right}`, { cure })
  }
  if (CATALOGUE_LOST.test(message)) {
    const reason = /connection to server[^\n]*|server closed the connection/.exec(message)?.[0] ?? 'connection lost'
    const cure = 'Check that PostgreSQL runs and can be reached. The worker then continues by itself.'
    return new SyncError('LAKE_BUSY', `the catalogue of ${path} cannot be reached: ${reason}`, { cure })
  }
  if (LOST_COMMIT.test(message)) {
    const cure = 'This load stored nothing; the next run reads its rows again.'
    return new SyncError('LAKE_BUSY', `${path}: another loader committed first`, { cure })
  }
  if (!isOutdated(message, path)) return undefined
  const cure = 'This load stored nothing. Start the command again. A worker opens the lake again, or ends.'
  return new SyncError('LAKE_BUSY', `${path}: another process has moved rows of the catalogue into files`, { cure })
}

export const lockedError = (path: string, where: string): SyncError =>
  new SyncError('WAREHOUSE_LOCKED', `${path} is open in ${where}`.trim(), {
    cure: 'One process owns the warehouse: stop the other one, or query the published copy instead.',
    data: { path },
  })

const firstLine = (message: string): string => message.split('\n')[0] ?? ''

/** These errors quote row values, so a word such as "checksum" does not prove damage. */
const QUOTES_ANY_TEXT = /^(Conversion|Invalid Input|Binder|Catalog|Parser|Constraint) Error/

function isCorrupt(message: string): boolean {
  if (QUOTES_ANY_TEXT.test(message)) return false
  return /not a valid DuckDB database file|sqlite_scanner|file is not a|Corrupt|checksum|Serialization Error|invalid magic/i.test(
    message,
  )
}

const TRIES_MAX = 40
const WAIT_MS_MIN = 20
const WAIT_MS_MAX = 1_000
const UNREACHABLE_MS_MAX = 30_000

const LOST_COMMIT = /^TransactionContext Error:[^]*DuckLake transaction\.\s+Exceeded the maximum retry count/
const CONFLICT =
  /Exceeded the maximum retry count|database is locked|could not serialize|Transaction conflict|cannot be reached|committed first/

/** Retries `work` after conflicts. Throws LAKE_BUSY after `triesMax` conflicts. */
export async function repeatConflicts<T>(work: () => Promise<T>, name: string, triesMax = TRIES_MAX) {
  let end = Infinity
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      const known = asSyncError(error)
      if (!CONFLICT.test(known.message)) throw error
      if (/cannot be reached/.test(known.message)) {
        end = Math.min(end, systemClock.monotonicMs() + UNREACHABLE_MS_MAX)
        if (tries >= triesMax || systemClock.monotonicMs() > end) throw known
      }
      if (tries >= triesMax)
        throw new SyncError('LAKE_BUSY', `${name}: other loaders committed first, ${tries} times`, {
          cure: 'This load stored nothing; the next run reads its rows again. Let fewer processes load into this lake, or let them load less often.',
          cause: error,
        })
      const waitMs = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** Math.min(tries, 6))
      await systemClock.sleep(waitMs * (0.5 + systemClock.random()))
    }
  }
}
