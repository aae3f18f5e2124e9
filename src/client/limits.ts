/** The client's limits: everything that it waits for, reads or repeats has a limit with a name, a unit and a reason. */
import { assert } from '../errors.ts'
import { HEAD_MS_MAX } from '../plan/window.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../instant.ts'

export interface ClientLimits {
  /** How long a TCP and TLS connection may take to open. */
  readonly connectMs: number
  /** How long the service may take until the first byte of an answer. */
  readonly headersMs: number
  /** Longest pause between two pieces of a body; a longer one ends the request with SERVICE_TIMEOUT. */
  readonly bodyMs: number
  /** How long one request may take from its start to the last byte, also when bytes keep arriving. */
  readonly answerMs: number
  /** The maximum bytes of one answer, compressed and decompressed. */
  readonly answerBytesMax: number
  /** How often one request is sent before its failure is thrown. */
  readonly attemptsMax: number
  /** The maximum of the first random delay between attempts. It is doubled for each further attempt. */
  readonly retryDelayMsMin: number
  /** The maximum of all random delays. */
  readonly retryDelayMsMax: number
  /** The longest `Retry-After` that a request waits. With a longer one, requests fail until the pause is over. */
  readonly retryAfterMsMax: number
  /** The longest pause. A longer `Retry-After` is shortened to this. */
  readonly pauseMsMax: number
}

const MEBIBYTE = 1_024 * 1_024

export const DEFAULT_LIMITS: ClientLimits = {
  // A service that is reachable opens a connection within a second; a lost SYN packet costs three.
  connectMs: 10 * SECOND_MS,
  headersMs: HEAD_MS_MAX,
  // A server that streams sends data often: half a minute without a byte is a dead connection.
  bodyMs: 30 * SECOND_MS,
  // Allows for the time until the first byte and the slow transfer of a full page.
  answerMs: 5 * MINUTE_MS,
  // Allows for 500 rows of 256 KiB. Four such responses at once still fit into the memory of a small machine.
  answerBytesMax: 128 * MEBIBYTE,
  // With the delays below, six attempts outlast half a minute of failures. After them, the next run tries again.
  attemptsMax: 6,
  retryDelayMsMin: 500,
  retryDelayMsMax: 30 * SECOND_MS,
  // A run waits at most this long. With a longer Retry-After it fails, and the first run after the pause tries again.
  retryAfterMsMax: 5 * MINUTE_MS,
  // A service may be closed for a night. A longer Retry-After is a mistake that could stop Tidemark for years.
  pauseMsMax: DAY_MS,
}

/** A token is renewed this long before its end, so that it cannot expire between sending and checking. */
export const TOKEN_MARGIN_MS_MAX = MINUTE_MS
/** For a short-lived token, the margin is at most this share of its lifetime. */
export const TOKEN_MARGIN_SHARE = 0.2
/** A longer lifetime is shortened to this, so that a revoked secret stops working within a day. */
export const TOKEN_LIFETIME_MS_MAX = DAY_MS
/** A token answer is a JWT and two fields; proxies refuse longer headers than this anyway. */
export const TOKEN_ANSWER_BYTES_MAX = 256 * 1_024
/** After a 401, a request is sent again with a new token. Tokens in a shared store may be stale as well. */
export const TOKENS_TRIED_MAX = 3
/** A refusal's body is used only for the error text, so the rest of a longer one is not read. */
export const REFUSAL_BODY_BYTES_MAX = 64 * 1_024
/** Characters of a refusal's body in an error: about ten property errors. */
export const SHOWN_CHARS_MAX = 600
/** Characters of a body that is not JSON in an error: enough for the title of a login page. */
export const SHOWN_START_CHARS_MAX = 80

/** Returns the default limits with the caller's overrides. */
export function limitsFrom(overrides: Partial<ClientLimits> = {}): ClientLimits {
  const limits = { ...DEFAULT_LIMITS, ...overrides }
  for (const [name, value] of Object.entries(limits)) {
    assert(Number.isFinite(value) && value > 0, `the client's limit ${name} must be a positive number`)
  }
  assert(Number.isInteger(limits.attemptsMax), 'attemptsMax must be a whole number')
  assert(limits.retryDelayMsMin <= limits.retryDelayMsMax, 'retryDelayMsMin must not exceed retryDelayMsMax')
  assert(limits.retryAfterMsMax <= limits.pauseMsMax, 'retryAfterMsMax must not exceed pauseMsMax')
  return limits
}
