/** The list of all errors. Callers compare `code` or `retry`, never the message. No error contains a secret. */

/** `never`: the call keeps failing until somebody acts. `transient`: the call may succeed later. */
export type Retry = 'never' | 'transient'

const CODES = {
  // Mistakes in the configuration or in how a command was used. The exit code is 2.
  CONFIG_INVALID: { retry: 'never', usage: true },
  USAGE_INVALID: { retry: 'never', usage: true },
  REPORT_UNKNOWN: { retry: 'never', usage: true },
  // Errors from token requests (spec §5, §7).
  CREDENTIALS_REFUSED: { retry: 'never' },
  TOKEN_REQUEST_INVALID: { retry: 'never' },
  TOKEN_UNPROCESSABLE: { retry: 'never' },
  TOKEN_RATE_LIMITED: { retry: 'transient' },
  TOKEN_UNUSABLE: { retry: 'never' },
  // Errors from report requests (spec §5, §7).
  SCOPE_MISSING: { retry: 'never' },
  REPORT_FORBIDDEN: { retry: 'never' },
  REPORT_PAUSED: { retry: 'never' },
  REQUEST_INVALID: { retry: 'never' },
  RATE_LIMITED: { retry: 'transient' },
  SERVICE_UNAVAILABLE: { retry: 'transient' },
  SERVICE_UNREACHABLE: { retry: 'transient' },
  SERVICE_TIMEOUT: { retry: 'transient' },
  STATUS_UNEXPECTED: { retry: 'never' },
  REDIRECTED: { retry: 'never' },
  ANSWER_NOT_JSON: { retry: 'transient' },
  ANSWER_MALFORMED: { retry: 'transient' },
  ANSWER_TOO_LARGE: { retry: 'never' },
  // Tidemark cannot prove that it has read all rows of a window.
  WALK_UNSTABLE: { retry: 'transient' },
  WALK_TOO_LONG: { retry: 'never' },
  BOUNDS_IGNORED: { retry: 'never' },
  // A run would mark too many rows as deleted.
  MASS_DELETE_STOPPED: { retry: 'never' },
  // Errors caused by the warehouse, the published copy or the disk.
  WAREHOUSE_LOCKED: { retry: 'transient' },
  WAREHOUSE_CORRUPT: { retry: 'never' },
  WAREHOUSE_NEWER: { retry: 'never' },
  WAREHOUSE_MISSING: { retry: 'never' },
  MOVE_UNFINISHED: { retry: 'never' },
  DISK_FULL: { retry: 'transient' },
  FILES_EXHAUSTED: { retry: 'transient' },
  WAREHOUSE_MEMORY: { retry: 'never' },
  LOAD_REFUSED: { retry: 'never' },
  FENCED: { retry: 'never' },
  STAGED_MISSING: { retry: 'transient' },
  PUBLISH_FAILED: { retry: 'transient' },
  QUERY_FAILED: { retry: 'never' },
  CURSOR_EXPIRED: { retry: 'never' },
  EXPORT_REFUSED: { retry: 'never' },
  EXPORT_FAILED: { retry: 'transient' },
  // Errors caused by a DuckDB extension, or by a lake that needs one.
  EXTENSION_MISSING: { retry: 'never', usage: true },
  SERVE_FAILED: { retry: 'transient' },
  LAKE_BUSY: { retry: 'transient' },
  LAKE_OUTDATED: { retry: 'never' },
  STORAGE_REFUSED: { retry: 'never' },
  STORAGE_UNREACHABLE: { retry: 'transient' },
  // Errors caused by the queue, a worker or a message receiver.
  QUEUE_UNREACHABLE: { retry: 'transient' },
  QUEUE_UNFIT: { retry: 'never' },
  QUEUE_LOCKED: { retry: 'transient' },
  WORKER_LOST: { retry: 'transient' },
  DELIVERY_FAILED: { retry: 'transient' },
  // Errors from the web console.
  CONSOLE_PORT_TAKEN: { retry: 'never' },
  CONSOLE_LOGIN_NEEDED: { retry: 'never' },
  CONSOLE_LIMITED: { retry: 'transient' },
  CONSOLE_REFUSED: { retry: 'never' },
  // The remaining codes have no common cause.
  CANCELLED: { retry: 'transient' },
  UNEXPECTED: { retry: 'transient' },
} as const satisfies Record<string, { retry: Retry; usage?: true }>

/** What failed. docs/ERRORS.md describes each code's causes and cure. @useDeclaredType */
export type ErrorCode = keyof typeof CODES

/** All values of `ErrorCode`. */
export const errorCodes = Object.keys(CODES) as readonly ErrorCode[]

export interface ErrorDetails {
  cure: string
  report?: string | undefined
  /** Logs and `--json` show these values, so they must contain no secrets, headers or requests. */
  data?: Readonly<Record<string, unknown>>
  cause?: unknown
}

/** The only error that Tidemark throws. Compare its `code`, and print its `message` and `cure`. */
export class SyncError extends Error {
  readonly code: ErrorCode
  readonly retry: Retry
  /** What the operator can do about the error, as a sentence. */
  readonly cure: string
  /** The report that has failed. Undefined if the error is not about one report. */
  readonly report: string | undefined
  /** Plain values for logs and `--json`, such as `path`. They contain no secrets. */
  readonly data: Readonly<Record<string, unknown>>

  /** @internal */
  constructor(code: ErrorCode, message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'SyncError'
    this.code = code
    this.retry = CODES[code].retry
    this.cure = details.cure
    this.report = details.report
    this.data = details.data ?? {}
  }

  /** True for a configuration or usage error. Such an error ends the program with exit code 2. */
  get isUsage(): boolean {
    return 'usage' in CODES[this.code]
  }

  /** Returns the fields that `--json` prints. */
  toJSON(): Record<string, unknown> {
    return { code: this.code, message: this.message, cure: this.cure, report: this.report, ...this.data }
  }
}

/** Converts any thrown value to a SyncError. */
export function asSyncError(thrown: unknown): SyncError {
  if (thrown instanceof SyncError) return thrown
  // If the cleanup after an error fails too, `suppressed` is the first error.
  if (thrown instanceof SuppressedError) return asSyncError(thrown.suppressed)
  if (isOutOfFiles(thrown)) return filesExhausted(thrown)
  if (thrown instanceof Error && ['AbortError', 'TimeoutError'].includes(thrown.name))
    return cancelled('stopped on request')
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  const cure = 'This is a defect of Tidemark: please report it with the log of this run.'
  return new SyncError('UNEXPECTED', message, { cure, cause: thrown })
}

export const cancelled = (message: string): SyncError =>
  new SyncError('CANCELLED', message, { cure: 'Start it again; it continues where it stopped.' })

export const usageError = (message: string, cure: string, data = {}): SyncError =>
  new SyncError('USAGE_INVALID', message, { cure, data })

export const nothingPublished = (path: string): SyncError =>
  new SyncError('WAREHOUSE_MISSING', `nothing was published yet: there is no ${path}`, {
    cure: 'Run "tidemark sync": it publishes at its end.',
    data: { path },
  })

export const isOutOfFiles = (thrown: unknown): boolean =>
  /\bE[MN]FILE\b|too many open files/i.test(thrown instanceof Error ? thrown.message : String(thrown))

export const filesExhausted = (thrown: unknown): SyncError =>
  new SyncError('FILES_EXHAUSTED', 'this process can open no more files or connections', {
    cure: 'Raise its limit of open files (ulimit -n, LimitNOFILE= in a systemd unit) to 1024 or more, and start it again.',
    data: { reason: thrown instanceof Error ? thrown.message : String(thrown) },
    cause: thrown,
  })

export function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work()
  } catch {
    return otherwise
  }
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition)
    throw new SyncError('UNEXPECTED', `assertion failed: ${message}`, { cure: 'Please report this defect.' })
}
