/** What DuckDB is told when a database is opened, and what a COMMIT may tidy up behind itself. */

export interface FileOptions {
  readonly readOnly?: boolean
  /** DuckDB's own limit, such as `1GB`; what doesn't fit spills to `spillDirectory`. */
  readonly memory: string
  readonly threads?: number | undefined
  readonly spillDirectory?: string
}

/** So many rows are looked up by their place (DuckDB's own: 50). For more, reading whole columns costs less. */
const LOOKED_UP_MAX = 4_096

export function settings(options: FileOptions): Record<string, string> {
  return {
    memory_limit: options.memory,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    dynamic_or_filter_threshold: String(LOOKED_UP_MAX),
    max_vacuum_tasks: String(CLEARED_MIN),
    ...(options.readOnly === true
      ? { access_mode: 'READ_ONLY' }
      : { preserve_insertion_order: 'false', storage_compatibility_version: 'v1.4.0' }),
    ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
    ...(options.spillDirectory === undefined ? {} : { temp_directory: options.spillDirectory }),
  }
}

/**
 * At a checkpoint DuckDB writes row groups that lie side by side anew when fewer of them would do: up to three at once,
 * and up to a hundred times a table. A COMMIT that brought a thousand rows rewrote tables of millions so. This is how
 * often it may: each time gives back the room of a row group (122,880 rows) or more, so a little is enough to keep pace.
 */
export const CLEARED_MIN = 1
/** Rows that are replaced leave room behind; for each so many the COMMIT clears once more. */
const REPLACED_A_CLEARING = 30_720
/** A load of so many rows that replaces none leaves large row groups, which are good as they are. */
const ADDED_MANY = 10_000

/** How often a load's COMMIT may clear up in each table: its cost follows what the load changed. */
export function clearedBy({ inserted, updated }: { readonly inserted: number; readonly updated: number }): number {
  if (updated === 0 && inserted >= ADDED_MANY) return 0
  return CLEARED_MIN + Math.floor(updated / REPLACED_A_CLEARING)
}
