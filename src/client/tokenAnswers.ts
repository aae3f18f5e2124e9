/**
 * What the token endpoint answers (spec §4, §7). The body of a 200 is a secret: no error shows any of it, only
 * which of its fields are wrong.
 */
import { z } from 'zod'
import { SyncError } from '../errors.ts'
import { Secret } from '../secret.ts'
import { type Asked, failure, otherRefusal, shownProblems, statusData, unusableBody } from './answers.ts'
import { TOKEN_LIFETIME_MS_MAX } from './limits.ts'
import type { RawAnswer } from './transport.ts'

export interface IssuedToken {
  secret: Secret
  lifetimeMs: number
  /** Monotonic: when the request that brought it was sent; those before it that failed are none of its life. */
  sentMs: number
  /** What the JWT says it grants; undefined when it says nothing or is none. */
  scopes: readonly string[] | undefined
}

const TokenAnswer = z.object({
  // It goes into a header: printable, no blanks.
  accessToken: z.string().regex(/^[\x21-\x7e]+$/),
  expiresIn: z.number().positive(),
  // "Always `Bearer`" (spec §2); the scheme's case means nothing (RFC 9110 §11.1).
  tokenType: z.string().regex(/^bearer$/i),
})

/** The names under which authorisation servers put scopes into a JWT. */
const Claims = z.object({
  scope: z.union([z.string(), z.array(z.string())]).optional(),
  scp: z.union([z.string(), z.array(z.string())]).optional(),
  scopes: z.union([z.string(), z.array(z.string())]).optional(),
})

/** The token of an answer, or a SyncError saying why there is none. */
export function issuedToken(answer: RawAnswer, asked: Asked): IssuedToken {
  const refusal = tokenRefusal(answer, asked)
  if (refusal !== undefined) throw refusal
  const parsed = TokenAnswer.safeParse(jsonIn(answer.bytes))
  if (!parsed.success) throw unusable(parsed.error, asked)
  const { accessToken, expiresIn } = parsed.data
  const lifetimeMs = Math.min(expiresIn * 1_000, TOKEN_LIFETIME_MS_MAX)
  return { secret: new Secret(accessToken), lifetimeMs, sentMs: answer.sentMs, scopes: scopesIn(accessToken) }
}

/** Wrong credentials are told to nobody twice: the client keeps this and asks no more (product contract, promise 9). */
export function credentialsRefused(): SyncError {
  return new SyncError(
    'CREDENTIALS_REFUSED',
    'token request: the client id or secret is wrong, or the client is disabled (401)',
    {
      cure: 'Check service.client_id and the client secret, or ask for a new one; start the worker again if one runs, unless you changed only the file that holds the secret; then run: tidemark check',
      data: { status: 401 },
    },
  )
}

function tokenRefusal(answer: RawAnswer, asked: Asked): SyncError | undefined {
  const data = statusData(answer)
  switch (answer.status) {
    case 200:
      // An empty body falls through to the schema: it is an answer without a token.
      return answer.bytes.length === 0 ? undefined : unusableBody(answer, asked)
    case 400: {
      const { text, problems } = shownProblems(answer, asked)
      const message = `the service refused its form (400): ${text}`
      const cure = 'Check service.client_id, the client secret and service.scopes.'
      return failure('TOKEN_REQUEST_INVALID', asked, { message, cure, data: { ...data, problems } })
    }
    case 401:
      return credentialsRefused()
    case 422: {
      const { text, problems } = shownProblems(answer, asked)
      const message = `the service understood it but could not process it (422): ${text}`
      const cure =
        'Check that every scope in service.scopes is granted to this client, or ask the owner of the service.'
      return failure('TOKEN_UNPROCESSABLE', asked, { message, cure, data: { ...data, problems } })
    }
    case 429:
      return failure('TOKEN_RATE_LIMITED', asked, {
        message: 'the service limits how often tokens may be asked for (429)',
        cure: 'Wait, then start it again; look for other programs that ask for tokens with the same client id.',
        data,
      })
    default:
      return otherRefusal(answer, asked)
  }
}

function unusable(error: z.ZodError, asked: Asked): SyncError {
  const fields = [...new Set(error.issues.map((issue) => String(issue.path[0] ?? 'body')))]
  return failure('TOKEN_UNUSABLE', asked, {
    message: `the answer is no usable Bearer token (wrong: ${fields.join(', ')})`,
    cure: 'Check that service.base_url is the right host; else ask the owner of the service.',
    data: { fields },
  })
}

/** Only to tell a person what was granted; whether a token is genuine is for the service to judge. */
function scopesIn(accessToken: string): readonly string[] | undefined {
  const payload = accessToken.split('.')[1]
  if (payload === undefined) return undefined
  const claims = Claims.safeParse(jsonIn(Buffer.from(payload, 'base64url')))
  const granted = claims.data?.scope ?? claims.data?.scp ?? claims.data?.scopes
  return typeof granted === 'string' ? granted.split(' ').filter((scope) => scope !== '') : granted
}

function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
