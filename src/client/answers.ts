/** Chooses the error for a response from its status and its first bytes (spec §7). No error quotes a secret. */
import { type ErrorCode, type ErrorDetails, SyncError } from '../errors.ts'
import { SHOWN_CHARS_MAX, SHOWN_START_CHARS_MAX } from './limits.ts'
import { problemsIn } from './problems.ts'
import type { Redactor } from './redaction.ts'
import type { RawAnswer } from './transport.ts'

export interface RequestContext {
  report: string | undefined
  /** Undefined if the specification names no scope for the report (spec §5, rule 3). */
  scope?: string | undefined
  redactor: Redactor
}

const isTransient = (status: number): boolean =>
  status === 408 || status === 425 || (status >= 500 && status !== 501 && status !== 505)

/** Returns the error for a report's response, or undefined for a usable response. The caller handles a 401 first. */
export function reportRefusal(answer: RawAnswer, request: RequestContext): SyncError | undefined {
  if (answer.status === 200) return unusableBody(answer, request)
  if (answer.status === 400) return requestInvalid(answer, request)
  if (answer.status === 403) return forbidden(request)
  if (answer.status === 429) {
    return failure('RATE_LIMITED', request, {
      message: 'the service limits the number of requests (429)',
      cure: 'Wait, then start it again; if it happens often, lower service.concurrency or set service.requests_per_second.',
      data: statusData(answer),
    })
  }
  return otherRefusal(answer, request)
}

export function otherRefusal(answer: RawAnswer, request: RequestContext): SyncError {
  const { status } = answer
  if (isTransient(status)) {
    return failure('SERVICE_UNAVAILABLE', request, {
      message: `the service is not available (${status})`,
      cure: 'Try again later; if it happens again, ask the owner of the service.',
      data: statusData(answer),
    })
  }
  if (status >= 300 && status < 400 && status !== 304) return redirected(answer, request)
  // The body of a 2xx may contain private columns, so the error does not quote it.
  const shown = status < 300 ? '' : request.redactor.shown(answer.bytes.toString('utf8'), SHOWN_CHARS_MAX)
  return failure('STATUS_UNEXPECTED', request, {
    message: `the service answered ${status}, which is not in the specification${shown && `: ${shown}`}`,
    cure: 'Check that service.base_url is the host root of the reporting service, without /reportingapi.',
    data: statusData(answer),
  })
}

/** Returns the error for a 200 whose body is empty or a web page, such as a login page. Otherwise returns undefined. */
export function unusableBody(answer: RawAnswer, request: RequestContext): SyncError | undefined {
  const start = answer.bytes.subarray(0, 4_096).toString('utf8').trimStart()
  if (start === '' && answer.bytes.length < 4_096) {
    return failure('ANSWER_MALFORMED', request, {
      message: 'the service answered 200 with an empty body',
      cure: 'Try again; if it happens again, ask the owner of the service.',
      data: statusData(answer),
    })
  }
  if (!start.startsWith('<') && !/\bhtml\b/i.test(answer.contentType)) return undefined
  // The error quotes no body that begins like JSON, because that body may contain rows with private columns.
  const shown = /^[[{]/.test(start) ? {} : { start: request.redactor.shown(start, SHOWN_START_CHARS_MAX) }
  return failure('ANSWER_NOT_JSON', request, {
    message: 'the answer is a web page, not JSON',
    cure: 'Something in front of the service (proxy, login, maintenance page) answers: check service.base_url.',
    data: { ...statusData(answer), ...shown },
  })
}

/** Returns the error for a 401 that follows a new token: the token lacks the scope (spec §5, rules 3 and 4). */
export function scopeMissing(request: RequestContext): SyncError {
  const { report = '' } = request
  const scope = request.scope === undefined ? `the scope that grants reading ${report}` : `the scope ${request.scope}`
  return failure('SCOPE_MISSING', request, {
    message: 'the service answered 401 to a new token as well, so the token lacks the scope of this report',
    cure: `Add ${scope} to service.scopes and start the worker again if one runs, or have it granted to this client; then run: tidemark resume ${report}`,
    data: { status: 401, ...(request.scope === undefined ? {} : { scope: request.scope }) },
  })
}

function forbidden(request: RequestContext): SyncError {
  return failure('REPORT_FORBIDDEN', request, {
    message: 'this client is not permitted to read the data of this report (403)',
    cure: `Ask the owner of the service to permit it; then run: tidemark resume ${request.report ?? ''}`,
    data: { status: 403 },
  })
}

function requestInvalid(answer: RawAnswer, request: RequestContext): SyncError {
  const { text, problems } = shownProblems(answer, request)
  return failure('REQUEST_INVALID', request, {
    message: `the service refused the request (400): ${text}`,
    cure: 'Check start (it must not be in the future), filters, currencies and page_size of this report against this message of the service.',
    data: { status: 400, problems },
  })
}

function redirected(answer: RawAnswer, request: RequestContext): SyncError {
  const host = request.redactor.shown(answer.redirectHost ?? 'an unknown host', SHOWN_START_CHARS_MAX)
  return failure('REDIRECTED', request, {
    message: `the service redirects to ${host} (${answer.status}); redirects are never followed`,
    cure: 'Set service.base_url to the address that the owner of the service names; secrets are sent to no other host.',
    data: { status: answer.status, host },
  })
}

export function shownProblems({ bytes }: RawAnswer, { redactor }: RequestContext) {
  const problems = problemsIn(bytes).map(({ property, message }) => ({
    ...(property === undefined ? {} : { property: redactor.shown(property, SHOWN_START_CHARS_MAX) }),
    message: redactor.shown(message, SHOWN_CHARS_MAX),
  }))
  const lines = problems.map(({ property, message }) => (property === undefined ? message : `${property}: ${message}`))
  return { text: redactor.shown(lines.join('; ') || 'no reason given', SHOWN_CHARS_MAX), problems }
}

export const statusData = ({ status, retryAfterMs }: RawAnswer): Record<string, unknown> => ({
  status,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})

export function failure(
  code: ErrorCode,
  { report }: Pick<RequestContext, 'report'>,
  { message, ...details }: Omit<ErrorDetails, 'report' | 'cause'> & { message: string },
): SyncError {
  const subject = report === undefined ? 'token request: ' : ''
  return new SyncError(code, subject + message, { ...details, report })
}
