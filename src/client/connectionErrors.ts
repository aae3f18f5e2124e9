/** Turns a failed connection into a SyncError. The cause is left out, since it may contain the request. */
import { asSyncError, filesExhausted, isOutOfFiles, SyncError } from '../errors.ts'
import { cancelled } from './cancellation.ts'

const CLOSED = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED'])
const SILENT = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
/** Codes with which undici rejects a wrong call. Such an error is a defect of Tidemark, not of the network. */
const DEFECTS = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED', 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'])
const CERTIFICATE = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/

interface Destination {
  host: string
  report: string | undefined
}

/** Converts an error of undici or node:net, usually to SERVICE_UNREACHABLE or SERVICE_TIMEOUT. */
export function connectionError(error: unknown, { host, report }: Destination): SyncError {
  const reason = codeOf(error)
  if (reason === undefined || DEFECTS.has(reason)) return asSyncError(error)
  if (CLOSED.has(reason)) return cancelled('the client was closed')
  if (isOutOfFiles(reason)) return filesExhausted(reason)
  const details = { data: { host, reason }, report }
  if (SILENT.has(reason)) {
    return new SyncError('SERVICE_TIMEOUT', `the service at ${host} stopped answering`, {
      cure: TIMEOUT_CURE,
      ...details,
    })
  }
  const what = `no answer from the service at ${host}: ${reason}`
  return new SyncError('SERVICE_UNREACHABLE', what, { cure: cureOf(reason), ...details })
}

/** Returns the error for a response that was not complete after `answerMs` milliseconds. */
export function timeoutError(report: string | undefined, answerMs: number): SyncError {
  return new SyncError('SERVICE_TIMEOUT', `the answer was not complete after ${answerMs / 1_000} s`, {
    cure: TIMEOUT_CURE,
    data: { answerMs },
    report,
  })
}

const TIMEOUT_CURE = 'Try again later; if it happens again, lower page_size or turn expand flags off for this report.'

function cureOf(reason: string): string {
  if (CERTIFICATE.test(reason)) {
    return 'Check that service.base_url answers https with a valid certificate; NODE_EXTRA_CA_CERTS adds an authority.'
  }
  if (reason === 'ENOTFOUND') return 'Check the host name in service.base_url and this machine’s DNS.'
  return 'Check service.base_url and the network between this machine and the service; then start it again.'
}

/** Returns an error's code; undefined without one. If all addresses of a host fail, returns the first one's code. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  // Parser errors may have no code. Their data contains parts of the response, so it is not used.
  if (error.name === 'HTTPParserError') return 'NOT_HTTP'
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined
}
