/** The client's limits, with the reason for each value. */
import { HEAD_MS_MAX } from '../plan/window.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../instant.ts'

const MEBIBYTE = 1_024 * 1_024

export const DEFAULT_LIMITS = {
  /** 10 s is enough: a reachable service opens a connection within 1 s, or within 4 s if a packet is lost. */
  connectMs: 10 * SECOND_MS,
  headersMs: HEAD_MS_MAX,
  bodyMs: 30 * SECOND_MS,
  /** Maximum time from the start of a request to the last byte, even if bytes are still arriving. */
  answerMs: 5 * MINUTE_MS,
  /** One response can have 500 rows of 256 KiB. Eight such responses at once need 1 GiB of memory. */
  answerBytesMax: 128 * MEBIBYTE,
  /** The five delays between six attempts last at most 15.5 s in total. */
  attemptsMax: 6,
  /** The first delay is random, from 0 to this time. The upper bound doubles with each further delay. */
  retryDelayMsMin: 500,
  retryDelayMsMax: 30 * SECOND_MS,
  /** Requests wait out a `Retry-After` of up to this length. During a longer pause, they fail with RATE_LIMITED. */
  retryAfterMsMax: 5 * MINUTE_MS,
  /** A longer `Retry-After` is shortened to this time. It is probably a mistake, and could stop Tidemark for years. */
  pauseMsMax: DAY_MS,
}

export type ClientLimits = Readonly<typeof DEFAULT_LIMITS>

/** A token is renewed this long before it expires, so that it is still valid when a request arrives. */
export const TOKEN_MARGIN_MS_MAX = MINUTE_MS
/** A token with a short lifetime is renewed when this share of its lifetime is left. Example: 12 s of 60 s. */
export const TOKEN_MARGIN_SHARE = 0.2
/** A token with a longer lifetime is renewed after this time, so that a revoked secret stops working within a day. */
export const TOKEN_LIFETIME_MS_MAX = DAY_MS
/** Maximum size of a token response. No server accepts a token of this size in a header. */
export const TOKEN_ANSWER_BYTES_MAX = 256 * 1_024
/** A request that gets 401s tries at most this many tokens. Two of them may be expired tokens from a shared store. */
export const TOKENS_TRIED_MAX = 3
export const REFUSAL_BODY_BYTES_MAX = 64 * 1_024
/** An error quotes at most this many characters of an error response. About ten property errors fit. */
export const SHOWN_CHARS_MAX = 600
/** An error quotes at most this many characters of a body that is not JSON. The title of a login page fits. */
export const SHOWN_START_CHARS_MAX = 80
