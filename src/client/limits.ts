/**
 * Everything the client waits for, reads or repeats has a limit with a name, a unit and a reason. They are here
 * together so that their proportions can be judged at one glance; a caller may override each for itself.
 */
import { assert } from '../errors.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../instant.ts'

export interface ClientLimits {
  /** How long a TCP and TLS connection may take to open. */
  readonly connectMs: number
  /** How long the service may think before the first byte of an answer. */
  readonly headersMs: number
  /** How long a body may fall silent between two pieces. */
  readonly bodyMs: number
  /** How long one request may take from start to last byte, however busily its body drips. */
  readonly answerMs: number
  /** How many bytes one answer may have, as sent and again once decompressed. */
  readonly answerBytesMax: number
  /** How often one request is sent before its failure is reported. */
  readonly attemptsMax: number
  /** The bound of the first random delay between attempts; it doubles with each further one. */
  readonly retryDelayMsMin: number
  /** Where that doubling ends. */
  readonly retryDelayMsMax: number
  /** The longest `Retry-After` that is waited for; a longer one ends what is asked, and nothing is sent until then. */
  readonly retryAfterMsMax: number
  /** The longest `Retry-After` that is believed; the service is asked again after this at the latest. */
  readonly pauseMsMax: number
}

const MEBIBYTE = 1_024 * 1_024

export const DEFAULT_LIMITS: ClientLimits = {
  // A reachable service opens a connection within a second, a lost SYN packet costs three.
  connectMs: 10 * SECOND_MS,
  // "Expansion increases response size and processing time" (spec §4): a year of expanded rows may take a while.
  headersMs: 2 * MINUTE_MS,
  // A server that streams sends something; half a minute of silence is a dead connection.
  bodyMs: 30 * SECOND_MS,
  // Longer than the headers may take plus a slow line's transfer of a full page; shorter than a scheduler's patience.
  answerMs: 5 * MINUTE_MS,
  // 500 rows at 256 KiB each. Four such answers at once still fit a small machine's memory.
  answerBytesMax: 128 * MEBIBYTE,
  // With the delays below this rides out half a minute of trouble; what lasts longer is the schedule's to repeat.
  attemptsMax: 6,
  retryDelayMsMin: 500,
  retryDelayMsMax: 30 * SECOND_MS,
  // Longer waits would hold a run for nothing: it fails, and the first one after the pause asks again.
  retryAfterMsMax: 5 * MINUTE_MS,
  // A service that is closed for the night says so; what asks for more is a mistake that would silence us for good.
  pauseMsMax: DAY_MS,
}

/** A token is renewed this long before its end, so that it cannot die between leaving here and being checked there. */
export const TOKEN_MARGIN_MS_MAX = MINUTE_MS
/** Of a short-lived token only this share is given away to the margin, or it would be renewed for every call. */
export const TOKEN_MARGIN_SHARE = 0.2
/** No promise of a longer life is believed: a revoked secret should stop working within a day. */
export const TOKEN_LIFETIME_MS_MAX = DAY_MS
/** A token answer is a JWT and two fields; proxies refuse longer headers than this anyway. */
export const TOKEN_ANSWER_BYTES_MAX = 256 * 1_024
/** A 401 is answered with a new token; with a shared store, stale tokens of others may come in between. */
export const TOKENS_TRIED_MAX = 3
/** An error's body is only shown to people; what is longer is not read to its end. */
export const REFUSAL_BODY_BYTES_MAX = 64 * 1_024
/** How much of a refusal's body an error shows: some ten property errors. */
export const SHOWN_CHARS_MAX = 600
/** How much of a body that is no JSON an error shows: enough to know a login page by its title. */
export const SHOWN_START_CHARS_MAX = 80

/** The defaults with what the caller overrides. */
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
