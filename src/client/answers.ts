/** Chooses the error for a response from its status and its first bytes (spec §7). */
import { type ErrorCode, type ErrorDetails, SyncError } from '../errors.ts'
import { SHOWN_CHARS_MAX, SHOWN_START_CHARS_MAX } from './limits.ts'
import { problemsIn } from './problems.ts'
import type { Redactor } from './redaction.ts'
import type { RawAnswer } from './transport.ts'

export interface RequestContext {
  /** Undefined for a token request. */
  report: string | undefined
  /** The OAuth scope that the report needs. Undefined if the specification names no scope for the report. */
  scope?: string | undefined
  redactor: Redactor
}

type Refusal = readonly [ErrorCode, message: string, cure: string]
type Refusals = Readonly<Record<number, Refusal>>

const UNAVAILABLE: Refusal = [
  'SERVICE_UNAVAILABLE',
  'the service is not available',
  'Try again later; if it happens again, ask the owner of the service.',
]

const CREDENTIALS_REFUSED: Refusal = [
  'CREDENTIALS_REFUSED',
  'the client id or secret is wrong, or the client is disabled',
  'Check service.client_id and the client secret, or ask for a new one. The next run uses a changed file of the secret by itself. After another change start the worker again if one runs; then run: tidemark check',
]

const TOKEN_REFUSALS: Refusals = {
  400: [
    'TOKEN_REQUEST_INVALID',
    'the service refused its form',
    'Check service.client_id, the client secret and service.scopes.',
  ],
  401: CREDENTIALS_REFUSED,
  422: [
    'TOKEN_UNPROCESSABLE',
    'the service understood it but could not process it',
    'Check that every scope in service.scopes is granted to this client, or ask the owner of the service.',
  ],
  429: [
    'TOKEN_RATE_LIMITED',
    'the service limits how often tokens may be requested',
    'Wait; a worker tries again by itself, a command must be run again. Look for other programs that ask for tokens with the same client id.',
  ],
}

const reportRefusals = (report: string, scope: string): Refusals => ({
  400: [
    'REQUEST_INVALID',
    'the service refused the request',
    'Check start (it must not be in the future), filters, currencies and page_size of this report against this message of the service.',
  ],
  401: [
    'SCOPE_MISSING',
    'the service refused a new token as well, so the token lacks the scope of this report',
    `Add ${scope} to service.scopes and start the worker again if one runs, or have it granted to this client; then run: tidemark resume ${report}`,
  ],
  403: [
    'REPORT_FORBIDDEN',
    'this client is not permitted to read the data of this report',
    `Ask the owner of the service to permit it; then run: tidemark resume ${report}`,
  ],
  429: [
    'RATE_LIMITED',
    'the service limits the number of requests',
    'Wait; a worker tries again by itself, a command must be run again. If it happens often, lower service.concurrency or set service.requests_per_second.',
  ],
})

export function credentialsRefused(): SyncError {
  const [code, message, cure] = CREDENTIALS_REFUSED
  return failure(code, { report: undefined }, { message: `${message} (401)`, cure, data: { status: 401 } })
}

/** Returns the error for a response, or undefined for a usable response. */
export function errorOf(answer: RawAnswer, request: RequestContext): SyncError | undefined {
  const { status } = answer
  if (status === 200) return unusableBody(answer, request)
  const { report, scope } = request
  const granted = scope === undefined ? `the scope that grants reading ${report}` : `the scope ${scope}`
  const refusals = report === undefined ? TOKEN_REFUSALS : reportRefusals(report, granted)
  const refusal = refusals[status] ?? (isTransient(status) ? UNAVAILABLE : undefined)
  if (refusal === undefined) return isRedirect(status) ? redirected(answer, request) : unexpected(answer, request)
  const [code, message, cure] = refusal
  const { text, problems } =
    status === 400 || status === 422 ? shownProblems(answer, request) : { text: '', problems: {} }
  const data = { ...statusData(answer), ...problems, ...(status === 401 && scope !== undefined && { scope }) }
  return failure(code, request, { message: `${message} (${status})${text}`, cure, data })
}

const isTransient = (status: number): boolean =>
  status === 408 || status === 425 || (status >= 500 && status !== 501 && status !== 505)

const isRedirect = (status: number): boolean => status >= 300 && status < 400 && status !== 304

/** Returns an error for an empty response and for a web page, such as a login page. */
function unusableBody(answer: RawAnswer, request: RequestContext): SyncError | undefined {
  const start = answer.bytes.subarray(0, 4_096).toString('utf8').trimStart()
  if (start === '' && answer.bytes.length < 4_096) {
    return failure('ANSWER_MALFORMED', request, {
      message: 'the service answered 200 with an empty body',
      cure: 'Try again; if it happens again, ask the owner of the service.',
      data: statusData(answer),
    })
  }
  if (!start.startsWith('<') && !/\bhtml\b/i.test(answer.contentType)) return undefined
  // Mislabelled JSON may contain rows with private values, so the error does not quote JSON.
  const shown = /^[[{]/.test(start) ? {} : { start: request.redactor.shown(start, SHOWN_START_CHARS_MAX) }
  return failure('ANSWER_NOT_JSON', request, {
    message: 'the answer is a web page, not JSON',
    cure: 'Something in front of the service (proxy, login, maintenance page) answers: check service.base_url.',
    data: { ...statusData(answer), ...shown },
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

function unexpected(answer: RawAnswer, request: RequestContext): SyncError {
  const { status, bytes } = answer
  // A 2xx response may contain private columns, so the error does not quote it.
  const shown = status < 300 ? '' : request.redactor.shown(bytes.toString('utf8'), SHOWN_CHARS_MAX)
  return failure('STATUS_UNEXPECTED', request, {
    message: `the service answered ${status}, which is not in the specification${shown && `: ${shown}`}`,
    cure: 'Check that service.base_url is the host root of the reporting service, without /reportingapi. For a report of your own, check its path too.',
    data: statusData(answer),
  })
}

function shownProblems({ bytes }: RawAnswer, { redactor }: RequestContext) {
  const problems = problemsIn(bytes).map(({ property, message }) => ({
    ...(property === undefined ? {} : { property: redactor.shown(property, SHOWN_START_CHARS_MAX) }),
    message: redactor.shown(message, SHOWN_CHARS_MAX),
  }))
  const lines = problems.map(({ property, message }) => (property === undefined ? message : `${property}: ${message}`))
  return { text: `: ${redactor.shown(lines.join('; ') || 'no reason given', SHOWN_CHARS_MAX)}`, problems: { problems } }
}

const statusData = ({ status, retryAfterMs }: RawAnswer): Record<string, unknown> => ({
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
