/** Converts DuckDB's errors to Tidemark's. DuckDB has no error codes, so the text of the message decides. */
import { asSyncError, filesExhausted, isOutOfFiles, SyncError } from '../../errors.ts'

/** DuckDB's messages when its memory limit is reached. */
export const OUT_OF_MEMORY = /Out of Memory Error|Allocation failure|bad_alloc/i

const NOT_OPENED = /unable to open|Cannot open file|No such file|does not exist|Is a directory/i

/** Returns Tidemark's error for an error of DuckDB, which is recognised by the messages of DuckDB 1.5. */
export function databaseError(thrown: unknown, path: string): SyncError {
  if (thrown instanceof SyncError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if (isOutOfFiles(thrown)) return filesExhausted(thrown)
  if (/Could not set lock on file/.test(message)) {
    return new SyncError('WAREHOUSE_LOCKED', `${path} is open in another process. ${holder(message)}`.trim(), {
      cure: 'One process owns the warehouse: stop the other one, or query the published copy instead.',
      data: { path },
      cause: thrown,
    })
  }
  if (OUT_OF_MEMORY.test(message) && !/No space left/.test(message)) {
    return new SyncError('WAREHOUSE_MEMORY', `DuckDB may take no more memory: ${firstLine(message)}`, {
      cure: 'Raise limits.warehouse_memory (for export and verify limits.query_memory), for instance to 2GB, and run it again: nothing of it was kept, nothing committed was lost.',
      data: { path },
      cause: thrown,
    })
  }
  if (/No space left on device|disk.*full|failed to offload|ENOSPC/i.test(message)) {
    return new SyncError('DISK_FULL', `no space is left for ${path}`, {
      cure: 'Free some space and run it again: nothing of the unfinished load was kept, nothing committed was lost.',
      data: { path },
      cause: thrown,
    })
  }
  if (/replaying WAL file|WAL was created for/.test(message)) return foreignLog(message, path, thrown)
  if (isCorrupt(message) || (/Could not read enough bytes/.test(message) && message.includes(path))) {
    return new SyncError('WAREHOUSE_CORRUPT', `${path} is not a DuckDB file that can be read: ${firstLine(message)}`, {
      cure: 'Restore it from a backup or from the published copy, or move it away: the next sync builds it afresh.',
      data: { path },
      cause: thrown,
    })
  }
  if (/newer version of DuckDB|version number \d+, but we can only read/.test(message)) {
    return new SyncError('WAREHOUSE_NEWER', `${path} was written by a newer DuckDB: ${firstLine(message)}`, {
      cure: 'Run the newer Tidemark that wrote it.',
      data: { path },
      cause: thrown,
    })
  }
  if (/Interrupted|INTERRUPT/.test(message)) {
    return new SyncError('CANCELLED', 'the statement was stopped on request', {
      cure: 'Start it again; it goes on where it stopped.',
    })
  }
  if (NOT_OPENED.test(message) && message.includes(path)) {
    return new SyncError('WAREHOUSE_MISSING', `${path} cannot be opened: ${firstLine(message)}`, {
      cure: 'Check the path and its permissions; `tidemark sync` makes the file.',
      data: { path },
      cause: thrown,
    })
  }
  return asSyncError(thrown)
}

/**
 * Returns the error for a write-ahead log of another file: someone replaced the database file and left the log next to
 * it.
 */
const foreignLog = (message: string, path: string, cause: unknown): SyncError =>
  new SyncError('WAREHOUSE_CORRUPT', `${path} and ${path}.wal do not belong together: ${firstLine(message)}`, {
    cure: `If ${path} was put there in place of another file, move ${path}.wal away; else restore both from a backup, or move both away.`,
    data: { path },
    cause,
  })

const firstLine = (message: string): string => message.split('\n')[0] ?? ''

const holder = (message: string): string => /Conflicting lock is held in .*?\(PID \d+\)/.exec(message)?.[0] ?? ''

/** Errors of these kinds may quote any text, even the word "checksum". They never mean that the file is corrupt. */
const ABOUT_A_TEXT = /^(Conversion|Invalid Input|Binder|Catalog|Parser|Constraint) Error/

function isCorrupt(message: string): boolean {
  if (ABOUT_A_TEXT.test(message)) return false
  return /not a valid DuckDB database file|sqlite_scanner|file is not a|Corrupt|checksum|Serialization Error|invalid magic/i.test(
    message,
  )
}
