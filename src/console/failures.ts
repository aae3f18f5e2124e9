/** Converts errors to responses with `code`, `message` and `cure`. No response contains a stack trace. */
import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify'
import { asSyncError, type ErrorCode, SyncError } from '../errors.ts'
import type { Log } from '../log.ts'

const STATUS: Partial<Record<ErrorCode, number>> = {
  CONSOLE_LOGIN_NEEDED: 401,
  CONSOLE_REFUSED: 403,
  CONSOLE_LIMITED: 429,
  USAGE_INVALID: 400,
  QUERY_FAILED: 400,
  REPORT_UNKNOWN: 404,
  REPORT_PAUSED: 409,
  WORKER_LOST: 503,
  WAREHOUSE_MISSING: 503,
  WAREHOUSE_LOCKED: 503,
  QUEUE_UNREACHABLE: 503,
}

export function answerFailures(app: FastifyInstance, log: Log): void {
  app.setNotFoundHandler((_, reply) => reply.code(404).send({ error: NOT_FOUND }))
  app.setErrorHandler((thrown: FastifyError, _, reply) => {
    const known = thrown instanceof SyncError ? thrown : fastifyError(thrown)
    if (known === undefined || known.code === 'UNEXPECTED') {
      log.error({ err: thrown }, 'the console could not answer a request')
      return reply.code(500).send({ error: UNEXPECTED })
    }
    return sendFailure(reply, known)
  })
}

/** Sends an error as the response instead of throwing it, because a plugin's error handler could catch it. */
export function sendFailure(reply: FastifyReply, { code, message, cure, data }: SyncError): FastifyReply {
  const seconds = data['retryAfterSeconds']
  if (typeof seconds === 'number') reply.header('Retry-After', seconds)
  const status = typeof data['status'] === 'number' ? data['status'] : (STATUS[code] ?? 502)
  return reply.code(status).send({ error: { code, message, cure } })
}

function fastifyError({ statusCode = 500, message }: FastifyError): SyncError | undefined {
  if (statusCode >= 500) return undefined
  const code = statusCode === 429 ? 'CONSOLE_LIMITED' : 'USAGE_INVALID'
  return new SyncError(code, message, {
    cure: 'Correct the request; /api/openapi.json describes what each address accepts.',
    data: { status: statusCode },
  })
}

const NOT_FOUND = {
  code: 'USAGE_INVALID',
  message: 'there is nothing at this address',
  cure: '/api/openapi.json lists what there is.',
}

const UNEXPECTED = {
  code: asSyncError(undefined).code,
  message: 'the console could not answer',
  cure: "The worker's log contains the cause. Try again; if the error remains, please report it with those lines.",
}
