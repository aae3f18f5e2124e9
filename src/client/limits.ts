/** The client's limits, with the reason for each value. */
import { HEAD_MS_MAX } from '../plan/window.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../instant.ts'

const MEBIBYTE = 1_024 * 1_024

export const DEFAULT_LIMITS = {
  /** A reachable service connects within 4 s even if a packet is lost. After 10 s it counts as down. */
  connectMs: 10 * SECOND_MS,
  headersMs: HEAD_MS_MAX,
  bodyMs: 30 * SECOND_MS,
  /** The longest time from the start of a request to the last byte. */
  answerMs: 5 * MINUTE_MS,
  /** One response can have 500 rows of 256 KiB. */
  answerBytesMax: 128 * MEBIBYTE,
  /** The five delays between six attempts take at most 15.5 s. */
  attemptsMax: 6,
  /** The first delay is random, up to this time. The bound doubles with each further delay, up to `retryDelayMsMax`. */
  retryDelayMsMin: 500,
  retryDelayMsMax: 30 * SECOND_MS,
  /** If the service requests a longer pause, requests do not wait but fail. */
  retryAfterMsMax: 5 * MINUTE_MS,
  /** A longer `Retry-After` is shortened to this time, because it is probably a mistake. */
  pauseMsMax: DAY_MS,
}

export type ClientLimits = Readonly<typeof DEFAULT_LIMITS>

/** A token is renewed at most this long before it expires, so that it is valid when its request arrives. */
export const TOKEN_MARGIN_MS_MAX = MINUTE_MS
/** A token is renewed when this share of its lifetime is left. Example: 12 s before the end of a lifetime of 60 s. */
export const TOKEN_MARGIN_SHARE = 0.2
/** No token is used longer than this, so that a revoked secret stops working within a day. */
export const TOKEN_LIFETIME_MS_MAX = DAY_MS
/** A larger token response is an error, because no server would accept its token in a header. */
export const TOKEN_ANSWER_BYTES_MAX = 256 * 1_024
/** A request is tried with at most this many tokens in turn: the first two may be expired tokens of a shared store. */
export const TOKENS_TRIED_MAX = 3
export const REFUSAL_BODY_BYTES_MAX = 64 * 1_024
/** An error quotes at most this many characters of a response: enough for about ten property errors. */
export const SHOWN_CHARS_MAX = 600
/** Errors quote at most this many characters of a web page, host or property: enough for the title of a login page. */
export const SHOWN_START_CHARS_MAX = 80
