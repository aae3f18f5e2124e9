/** The client's limits, with the reason for each value. */
import { HEAD_MS_MAX } from '../plan/window.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../instant.ts'

const MEBIBYTE = 1_024 * 1_024

export const DEFAULT_LIMITS = {
  /** Maximum time to open a connection. A reachable service needs 1 s, or 4 s if a packet is lost. */
  connectMs: 10 * SECOND_MS,
  /** Maximum time until the first byte of a response. */
  headersMs: HEAD_MS_MAX,
  /** Maximum time between two pieces of a body. A server that still sends data sends a piece every few seconds. */
  bodyMs: 30 * SECOND_MS,
  /** Maximum duration of a request from its start to the last byte, even while bytes still arrive. */
  answerMs: 5 * MINUTE_MS,
  /** Maximum size of a response, for example 500 rows of 256 KiB. Eight such responses at once need 1 GiB of memory. */
  answerBytesMax: 128 * MEBIBYTE,
  /** Maximum number of attempts for a request. The five delays between six attempts last at most 15.5 s in total. */
  attemptsMax: 6,
  /** The first delay between attempts is random and at most this long. Each later delay can be twice as long. */
  retryDelayMsMin: 500,
  retryDelayMsMax: 30 * SECOND_MS,
  /** The longest `Retry-After` that a request waits for. During a longer pause, requests fail with RATE_LIMITED. */
  retryAfterMsMax: 5 * MINUTE_MS,
  /** A longer `Retry-After` is shortened to this time: it is probably a mistake and could stop Tidemark for years. */
  pauseMsMax: DAY_MS,
}

export type ClientLimits = Readonly<typeof DEFAULT_LIMITS>

/** A token is renewed this long (ms) before it expires, so that it is still valid when a request arrives. */
export const TOKEN_MARGIN_MS_MAX = MINUTE_MS
/** A token with a short lifetime is renewed this share of the lifetime before it expires. Example: 12 s of 60 s. */
export const TOKEN_MARGIN_SHARE = 0.2
/** A token that lives longer is renewed after this time, so that a revoked secret stops working within a day. */
export const TOKEN_LIFETIME_MS_MAX = DAY_MS
/** Maximum size of a token response. No server accepts a longer token in a header. */
export const TOKEN_ANSWER_BYTES_MAX = 256 * 1_024
/** Maximum number of tokens that a request tries after 401s. Two tokens from a shared store may both have expired. */
export const TOKENS_TRIED_MAX = 3
/** Maximum size of the body of an error response. Only the error's message uses this body. */
export const REFUSAL_BODY_BYTES_MAX = 64 * 1_024
/** Maximum number of characters that an error quotes from an error response. About ten property errors fit. */
export const SHOWN_CHARS_MAX = 600
/** Maximum number of characters that an error quotes from a body without JSON. The title of a login page fits. */
export const SHOWN_START_CHARS_MAX = 80
