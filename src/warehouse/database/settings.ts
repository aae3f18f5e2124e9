/** DuckDB's settings, and how many compactions a COMMIT may do. */
export interface FileOptions {
  readonly readOnly?: boolean
  /** DuckDB's memory limit, such as `1GB`. */
  readonly memory: string
  /** A higher limit while DuckDB opens the file, because replaying the log can need more memory. */
  readonly replayMemory?: string
  readonly threads?: number | undefined
  readonly spillDirectory?: string
  /** Maximum size of the spilled data, such as `10GB`. */
  readonly disk?: string
}

/** For more rows than this, DuckDB reads whole columns instead of single rows. */
const ROWS_BY_POSITION_MAX = 4_096

export function settings(options: FileOptions): Record<string, string> {
  return {
    memory_limit: options.replayMemory ?? options.memory,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    dynamic_or_filter_threshold: String(ROWS_BY_POSITION_MAX),
    max_vacuum_tasks: String(COMPACTIONS_MIN),
    ...(options.readOnly === true
      ? { access_mode: 'READ_ONLY' }
      : { preserve_insertion_order: 'false', storage_compatibility_version: 'v1.4.0' }),
    ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
    ...(options.spillDirectory === undefined ? {} : { temp_directory: options.spillDirectory }),
  }
}

/** Least number of compactions in a COMMIT. With DuckDB's default of 100, small loads could rewrite large tables. */
export const COMPACTIONS_MIN = 1
/** A load may do one more compaction for each group of this many replaced rows. */
const REPLACED_A_COMPACTION = 30_720
/** A load that adds at least this many rows and replaces none needs no compaction: its row groups are full. */
const ADDED_MANY = 10_000

export function compactionsFor({ inserted, updated }: { readonly inserted: number; readonly updated: number }): number {
  if (updated === 0 && inserted >= ADDED_MANY) return 0
  return COMPACTIONS_MIN + Math.floor(updated / REPLACED_A_COMPACTION)
}
