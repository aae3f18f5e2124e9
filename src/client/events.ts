/** What the client tells its logs. Events carry names and durations only: no secret, no header, no body. */
import type { ErrorCode } from '../errors.ts'
import type { Instant } from '../instant.ts'

export type ClientEvent =
  /** A request failed in passing and is sent again; no `report` means the token request. */
  | { kind: 'retry'; report: string | undefined; code: ErrorCode; attempt: number; delayMs: number }
  /** The service said 429: no request of this client starts for so long. */
  | { kind: 'throttled'; report: string | undefined; pauseMs: number }
  /** Another answer, such as a 503, came with Retry-After: the same. */
  | { kind: 'told to wait'; report: string | undefined; pauseMs: number }
  /** The service refused the cached token for this report; a new one is asked for (spec §5, rule 4). */
  | { kind: 'token refused'; report: string }
  | { kind: 'token refreshed'; expiresAt: Instant }
  /** The client secret was written anew where it came from: the new one is asked with. */
  | { kind: 'secret changed' }
  /** Answers carry no Date header: this machine's clock stands in for the service's. Said once. */
  | { kind: 'clock is ours' }
