/** Parses responses of the token endpoint (spec §4, §7). Errors contain names of fields, but not their values. */
import { z } from 'zod'
import { SyncError } from '../errors.ts'
import { Secret } from '../secret.ts'
import { failure, otherRefusal, type RequestContext, shownProblems, statusData, unusableBody } from './answers.ts'
import { TOKEN_LIFETIME_MS_MAX } from './limits.ts'
import { parsedJson } from './problems.ts'
import type { RawAnswer } from './transport.ts'

export interface IssuedToken {
  secret: Secret
  lifetimeMs: number
  sentMs: number
  /** The scopes in the JWT. Undefined if the token is no JWT or contains no scopes. */
  scopes: readonly string[] | undefined
}

const TokenAnswer = z.object({
  // The token is sent in a header, so it must have only printable characters and no spaces.
  accessToken: z.string().regex(/^[\x21-\x7e]+$/),
  expiresIn: z.number().positive(),
  // "Always `Bearer`" (spec §2); the scheme is case-insensitive (RFC 9110 §11.1).
  tokenType: z.string().regex(/^bearer$/i),
})

/** Servers use different names for the scopes in a JWT. */
const Claims = z.object({
  scope: z.union([z.string(), z.array(z.string())]).optional(),
  scp: z.union([z.string(), z.array(z.string())]).optional(),
  scopes: z.union([z.string(), z.array(z.string())]).optional(),
})

export function issuedToken(answer: RawAnswer, request: RequestContext): IssuedToken {
  const refusal = tokenRefusal(answer, request)
  if (refusal !== undefined) throw refusal
  const checked = TokenAnswer.safeParse(parsedJson(answer.bytes.toString('utf8')))
  if (!checked.success) throw unusable(checked.error, request)
  const { accessToken, expiresIn } = checked.data
  const lifetimeMs = Math.min(expiresIn * 1_000, TOKEN_LIFETIME_MS_MAX)
  return { secret: new Secret(accessToken), lifetimeMs, sentMs: answer.sentMs, scopes: scopesIn(accessToken) }
}

/** Returns the error for wrong credentials. After this error, the client sends no token request. */
export function credentialsRefused(): SyncError {
  return new SyncError(
    'CREDENTIALS_REFUSED',
    'token request: the client id or secret is wrong, or the client is disabled (401)',
    {
      cure: 'Check service.client_id and the client secret, or ask for a new one. The next run uses a changed file of the secret by itself. After another change start the worker again if one runs; then run: tidemark check',
      data: { status: 401 },
    },
  )
}

function tokenRefusal(answer: RawAnswer, request: RequestContext): SyncError | undefined {
  const data = statusData(answer)
  switch (answer.status) {
    case 200:
      // An empty body ends in TOKEN_UNUSABLE, the error for a missing token.
      return answer.bytes.length === 0 ? undefined : unusableBody(answer, request)
    case 400: {
      const { text, problems } = shownProblems(answer, request)
      const message = `the service refused its form (400): ${text}`
      const cure = 'Check service.client_id, the client secret and service.scopes.'
      return failure('TOKEN_REQUEST_INVALID', request, { message, cure, data: { ...data, problems } })
    }
    case 401:
      return credentialsRefused()
    case 422: {
      const { text, problems } = shownProblems(answer, request)
      const message = `the service understood it but could not process it (422): ${text}`
      const cure =
        'Check that every scope in service.scopes is granted to this client, or ask the owner of the service.'
      return failure('TOKEN_UNPROCESSABLE', request, { message, cure, data: { ...data, problems } })
    }
    case 429:
      return failure('TOKEN_RATE_LIMITED', request, {
        message: 'the service limits how often tokens may be requested (429)',
        cure: 'Wait, then start it again; look for other programs that ask for tokens with the same client id.',
        data,
      })
    default:
      return otherRefusal(answer, request)
  }
}

function unusable(error: z.ZodError, request: RequestContext): SyncError {
  const fields = [...new Set(error.issues.map((issue) => String(issue.path[0] ?? 'body')))]
  return failure('TOKEN_UNUSABLE', request, {
    message: `the answer is no usable Bearer token (wrong: ${fields.join(', ')})`,
    cure: 'Check that service.base_url is the right host; else ask the owner of the service.',
    data: { fields },
  })
}

/** Reads the scopes without checking the token's signature, because the scopes are only shown in messages. */
function scopesIn(accessToken: string): readonly string[] | undefined {
  const payload = accessToken.split('.')[1]
  if (payload === undefined) return undefined
  const claims = Claims.safeParse(parsedJson(Buffer.from(payload, 'base64url').toString('utf8')))
  const granted = claims.data?.scope ?? claims.data?.scp ?? claims.data?.scopes
  return typeof granted === 'string' ? granted.split(' ').filter((scope) => scope !== '') : granted
}
