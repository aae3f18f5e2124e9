/** The client's limits: maximum times to wait, sizes to read, and numbers of attempts, with units and reasons. */
import { HEAD_MS_MAX } from '../plan/window.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../instant.ts'

const MEBIBYTE = 1_024 * 1_024

export const DEFAULT_LIMITS = {
  /** Maximum duration of opening a TCP and TLS connection. */
  // A reachable service opens a connection within 1 s, or 4 s if a SYN packet is lost. After 10 s, it is unreachable.
  connectMs: 10 * SECOND_MS,
  /** Maximum time until the first byte of a response. */
  headersMs: HEAD_MS_MAX,
  /** Maximum time between two pieces of a body. After a longer time, the request fails with SERVICE_TIMEOUT. */
  // A server that streams sends data often. After half a minute without a byte, the connection is dead.
  bodyMs: 30 * SECOND_MS,
  /** Maximum duration of a request from its start to the last byte, even while bytes still arrive. */
  // This is enough for the wait for the first byte and for a slow transfer of a full page.
  answerMs: 5 * MINUTE_MS,
  /** Maximum number of bytes in a response, both compressed and decompressed. */
  // A response may contain 500 rows of 256 KiB. Four such responses fit into the memory of a small machine.
  answerBytesMax: 128 * MEBIBYTE,
  /** Maximum number of attempts for a request. After the last failure, the error is thrown. */
  // Without Retry-After, the five delays between six attempts last at most 15.5 s in total. The next run tries again.
  attemptsMax: 6,
  /** Maximum of the first random delay between attempts. The maximum doubles with each attempt. */
  retryDelayMsMin: 500,
  /** Maximum of each random delay between attempts, even after many attempts. */
  retryDelayMsMax: 30 * SECOND_MS,
  /** The longest `Retry-After` that a request waits for. During a longer pause, requests fail until its end. */
  // A run waits this long at most. If Retry-After is longer, the run fails, and a run after the pause tries again.
  retryAfterMsMax: 5 * MINUTE_MS,
  /** The longest pause. A longer `Retry-After` is shortened to this time. */
  // A service may be closed for a night. A longer Retry-After is a mistake that could stop Tidemark for years.
  pauseMsMax: DAY_MS,
}

export type ClientLimits = Readonly<typeof DEFAULT_LIMITS>

/** A token is renewed this long before its end, so that it does not expire while a request is on its way. */
export const TOKEN_MARGIN_MS_MAX = MINUTE_MS
/** The time from a token's renewal to its end is at most this share of its lifetime. Example: 12 s of 60 s. */
export const TOKEN_MARGIN_SHARE = 0.2
/** A token that lives longer is renewed after this time, so that a revoked secret stops working within a day. */
export const TOKEN_LIFETIME_MS_MAX = DAY_MS
/** Maximum number of bytes of a token response. No server would accept a longer token in a header. */
export const TOKEN_ANSWER_BYTES_MAX = 256 * 1_024
/** Maximum number of tokens that a request tries after 401s. Two tokens from a shared store may both have expired. */
export const TOKENS_TRIED_MAX = 3
/** Maximum number of bytes to read from the body of an error response. Only the error's text uses this body. */
export const REFUSAL_BODY_BYTES_MAX = 64 * 1_024
/** Maximum number of characters that an error quotes from an error response: about ten property errors. */
export const SHOWN_CHARS_MAX = 600
/** Maximum number of characters that an error quotes from a body without JSON: enough for the title of a login page. */
export const SHOWN_START_CHARS_MAX = 80
