/** Converts DuckDB's errors to Tidemark's by their text, because DuckDB has no error codes. */
import { asSyncError, cancelled, type ErrorCode, filesExhausted, isOutOfFiles, SyncError } from '../../errors.ts'
import { systemClock } from '../../clock.ts'
import { STORAGE_FAULT, storageError } from './storage.ts'

export const OUT_OF_MEMORY = /Out of Memory Error|Allocation failure|bad_alloc/i

const CATALOGUE_LOST =
  /Unable to connect to Postgres|connection to server|server closed the connection|no connection to the server|could not (?:receive data from|send data to) server|Failed to execute query "(?:BEGIN|COMMIT|ROLLBACK)/

/** Errors about a table of the catalogue that another process dropped. Only PostgreSQL causes the second one. */
const DROPPED = /ducklake_inlined_data_\d+_\d+\W+does not exist/
const DROPPED_IN_POSTGRES = /^INTERNAL Error: Attempted to access index 0 within vector of size 0/

/** Returns whether the lake must be attached again. Otherwise, DuckLake would keep reading a dropped table. */
export const isOutdated = (message: string, path: string): boolean =>
  DROPPED.test(message) || (path.startsWith('ducklake:') && DROPPED_IN_POSTGRES.test(message))

/** The last line of PostgreSQL's error. Earlier lines quote statements, whose values can contain any text. */
const NOT_PERMITTED = /": ERROR: +((?:permission denied|must be owner)[^\n]*)\s*$/

const NOT_OPENED = /unable to open|Cannot open file|No such file|does not exist|Is a directory/i

/** Converts a DuckDB error. Recognizes the messages of DuckDB 1.5. */
export function databaseError(thrown: unknown, path: string): SyncError {
  if (thrown instanceof SyncError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if (isOutOfFiles(thrown)) return filesExhausted(thrown)
  if (STORAGE_FAULT.test(message)) return storageError(message, thrown)
  const failure = (code: ErrorCode, what: string, cure: string) =>
    new SyncError(code, what, { cure, data: { path }, cause: thrown })
  const ofLake = lakeError(message, path)
  if (ofLake !== undefined) return ofLake
  const [holder = ''] = /Conflicting lock is held in .*?\(PID \d+\)/.exec(message) ?? []
  if (/Could not set lock on file/.test(message)) return lockedError(path, `another process. ${holder}`)
  if (OUT_OF_MEMORY.test(message) && !/No space left/.test(message)) {
    const cure =
      'Raise limits.warehouse_memory (for export and verify limits.query_memory), for instance to 2GB, and run it again: the unfinished load stored nothing, and committed rows are safe.'
    return failure('WAREHOUSE_MEMORY', `DuckDB has reached its memory limit: ${firstLine(message)}`, cure)
  }
  if (/No space left on device|disk.*full|failed to offload|ENOSPC/i.test(message)) {
    const cure = 'Free some space and run it again: the unfinished load stored nothing, and committed rows are safe.'
    return failure('DISK_FULL', `no space is left for ${path}`, cure)
  }
  if (/replaying WAL file|WAL was created for/.test(message)) {
    // Someone has replaced the database file, but not its log.
    const cure = `If ${path} has replaced another file, move ${path}.wal away. Otherwise restore both files from a backup, or move both away.`
    return failure('WAREHOUSE_CORRUPT', `${path} and ${path}.wal do not belong together: ${firstLine(message)}`, cure)
  }
  if (isCorrupt(message) || (/Could not read enough bytes/.test(message) && message.includes(path))) {
    const cure =
      'If it is no warehouse, name another path in the configuration. Otherwise restore it from a backup or from the published copy, or move it away: the next sync then creates a new file and reads all rows again.'
    return failure('WAREHOUSE_CORRUPT', `${path} is not a file that DuckDB can read: ${firstLine(message)}`, cure)
  }
  if (/newer version of DuckDB|version number \d+, but we can only read/.test(message)) {
    const cure = 'Run the newer Tidemark that wrote it.'
    return failure('WAREHOUSE_NEWER', `${path} was written by a newer DuckDB: ${firstLine(message)}`, cure)
  }
  if (/Interrupted|INTERRUPT/.test(message)) return cancelled('the statement was stopped on request')
  if (/Failed to create directory/.test(message))
    return failure('WAREHOUSE_MISSING', firstLine(message), 'Name a folder where this user can create files.')
  if (NOT_OPENED.test(message) && message.includes(path)) {
    if (/Is a directory/i.test(message))
      return failure('WAREHOUSE_MISSING', `${path} is a folder`, `Name a file, such as ${path}/warehouse.duckdb.`)
    const cure =
      'Check that its folder exists and that this user can create files there, or name another path; "tidemark sync" creates a missing warehouse.'
    return failure('WAREHOUSE_MISSING', `${path} cannot be opened: ${firstLine(message)}`, cure)
  }
  if (/Cannot open file .*: Permission denied/.test(message))
    return failure(
      'WAREHOUSE_MISSING',
      firstLine(message),
      'Allow this user to open this file and the folders above it.',
    )
  return asSyncError(thrown)
}

/**
 * Quotes little of the message, which can contain rows and the catalogue's password. Must run before `isCorrupt`,
 * because a quoted row could look like damage.
 */
function lakeError(message: string, path: string): SyncError | undefined {
  const [, right] = NOT_PERMITTED.exec(message) ?? []
  if (right !== undefined) {
    const cure =
      'To load, use the user that owns the tables of the catalogue. To read, grant SELECT. docs/LAKE.md lists all rights.'
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
  const cure =
    'This load stored nothing. Start the command again. A worker opens the lake again, or ends to be started again.'
  return new SyncError('LAKE_BUSY', `${path}: another process has moved rows of the catalogue into files`, { cure })
}

export const lockedError = (path: string, where: string): SyncError =>
  new SyncError('WAREHOUSE_LOCKED', `${path} is open in ${where}`.trim(), {
    cure: 'One process owns the warehouse: stop the other one, or query the published copy instead.',
    data: { path },
  })

const firstLine = (message: string): string => message.split('\n')[0] ?? ''

/** These errors quote row values, so a word such as "checksum" proves no damage. */
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
