/**
 * Status and first bytes of an answer → what it means (spec §7). Pure; the texts that it shows went through the
 * redactor. The token endpoint reads the same statuses differently and adds its own in tokenAnswers.ts.
 */
import { type ErrorCode, type ErrorDetails, SyncError } from '../errors.ts'
import { SHOWN_CHARS_MAX, SHOWN_START_CHARS_MAX } from './limits.ts'
import { problemsIn } from './problems.ts'
import type { Redactor } from './redaction.ts'
import type { RawAnswer } from './transport.ts'

export interface Asked {
  /** Undefined for the token request. */
  report: string | undefined
  /** The scope that grants the report, where the specification names it (spec §5, rule 3). */
  scope?: string | undefined
  redactor: Redactor
}

/** Passing trouble: timeouts, overload and gateways. 501 and 505 say "never" in other words. */
const isPassing = (status: number): boolean =>
  status === 408 || status === 425 || (status >= 500 && status !== 501 && status !== 505)

/** Why a report's answer cannot be used; undefined for a 200 whose body may be JSON. A 401 is judged by the caller. */
export function reportRefusal(answer: RawAnswer, asked: Asked): SyncError | undefined {
  if (answer.status === 200) return unusableBody(answer, asked)
  if (answer.status === 400) return requestInvalid(answer, asked)
  if (answer.status === 403) return forbidden(asked)
  if (answer.status === 429) {
    return failure('RATE_LIMITED', asked, {
      message: 'the service limits how often it may be asked (429)',
      cure: 'Wait, then start it again; if it happens often, lower service.concurrency or set service.requests_per_second.',
      data: statusData(answer),
    })
  }
  return otherRefusal(answer, asked)
}

/** What any endpoint's remaining statuses mean. */
export function otherRefusal(answer: RawAnswer, asked: Asked): SyncError {
  const { status } = answer
  if (isPassing(status)) {
    return failure('SERVICE_UNAVAILABLE', asked, {
      message: `the service is not available (${status})`,
      cure: 'Try again later; if it stays so, ask the owner of the service.',
      data: statusData(answer),
    })
  }
  if (status >= 300 && status < 400 && status !== 304) return redirected(answer, asked)
  // With success come rows, and what is private in them was not taken out yet.
  const shown = status < 300 ? '' : asked.redactor.shown(answer.bytes.toString('utf8'), SHOWN_CHARS_MAX)
  return failure('STATUS_UNEXPECTED', asked, {
    message: `the service answered ${status}, which the specification does not know${shown && `: ${shown}`}`,
    cure: 'Check that service.base_url is the host root of the reporting service, without /reportingapi.',
    data: statusData(answer),
  })
}

/** A body that can be no JSON: nothing, or the page of a proxy or login in front of the service. */
export function unusableBody(answer: RawAnswer, asked: Asked): SyncError | undefined {
  const start = answer.bytes.subarray(0, 4_096).toString('utf8').trimStart()
  if (start === '' && answer.bytes.length < 4_096) {
    return failure('ANSWER_MALFORMED', asked, {
      message: 'the service answered 200 with an empty body',
      cure: 'Try again; if it stays so, ask the owner of the service.',
      data: statusData(answer),
    })
  }
  if (!start.startsWith('<') && !/\bhtml\b/i.test(answer.contentType)) return undefined
  // Rows that are called a web page are not shown: what is private in them was not taken out yet.
  const shown = /^[[{]/.test(start) ? {} : { start: asked.redactor.shown(start, SHOWN_START_CHARS_MAX) }
  return failure('ANSWER_NOT_JSON', asked, {
    message: 'the answer is a web page, not JSON',
    cure: 'Something in front of the service (proxy, login, maintenance page) answers: check service.base_url.',
    data: { ...statusData(answer), ...shown },
  })
}

/** A 401 in spite of a new token: what is missing is the scope (spec §5, rules 3 and 4). */
export function scopeMissing(asked: Asked): SyncError {
  const { report = '' } = asked
  const scope = asked.scope === undefined ? `the scope that grants reading ${report}` : `the scope ${asked.scope}`
  return failure('SCOPE_MISSING', asked, {
    message: 'the service answered 401 to a new token as well, so the token lacks the scope of this report',
    cure: `Add ${scope} to service.scopes and start the worker again if one runs, or have it granted to this client; then run: tidemark resume ${report}`,
    data: { status: 401, ...(asked.scope === undefined ? {} : { scope: asked.scope }) },
  })
}

function forbidden(asked: Asked): SyncError {
  return failure('REPORT_FORBIDDEN', asked, {
    message: 'this client is not permitted to read the data of this report (403)',
    cure: `Ask the owner of the service to permit it; then run: tidemark resume ${asked.report ?? ''}`,
    data: { status: 403 },
  })
}

function requestInvalid(answer: RawAnswer, asked: Asked): SyncError {
  const { text, problems } = shownProblems(answer, asked)
  return failure('REQUEST_INVALID', asked, {
    message: `the service refused the request (400): ${text}`,
    cure: 'Check start (it must not lie in the future), filters, currencies and page_size of this report against what the service says here.',
    data: { status: 400, problems },
  })
}

function redirected(answer: RawAnswer, asked: Asked): SyncError {
  const host = asked.redactor.shown(answer.redirectHost ?? 'an unknown host', SHOWN_START_CHARS_MAX)
  return failure('REDIRECTED', asked, {
    message: `the service redirects to ${host} (${answer.status}); redirects are never followed`,
    cure: 'Set service.base_url to the address that the owner of the service gives; secrets go to no other host.',
    data: { status: answer.status, host },
  })
}

/** The problems of a refusal, fit to be shown. */
export function shownProblems({ bytes }: RawAnswer, { redactor }: Asked) {
  const problems = problemsIn(bytes).map(({ property, message }) => ({
    ...(property === undefined ? {} : { property: redactor.shown(property, SHOWN_START_CHARS_MAX) }),
    message: redactor.shown(message, SHOWN_CHARS_MAX),
  }))
  const lines = problems.map(({ property, message }) => (property === undefined ? message : `${property}: ${message}`))
  return { text: redactor.shown(lines.join('; ') || 'no reason given', SHOWN_CHARS_MAX), problems }
}

/** The status, and how long the service asked to be left alone. */
export const statusData = ({ status, retryAfterMs }: RawAnswer): Record<string, unknown> => ({
  status,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})

export function failure(
  code: ErrorCode,
  { report }: Pick<Asked, 'report'>,
  { message, ...details }: Omit<ErrorDetails, 'report' | 'cause'> & { message: string },
): SyncError {
  const subject = report === undefined ? 'token request: ' : ''
  return new SyncError(code, subject + message, { ...details, ...(report === undefined ? {} : { report }) })
}
