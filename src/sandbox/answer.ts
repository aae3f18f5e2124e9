/** Response objects, such as the error responses of the specification (§7). */

export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export const json = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  body: JSON.stringify(value),
  headers,
})

export const plainStatus = (status: number, title: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  json(status, { title, status }, headers)

export const invalid = (errors: Readonly<Record<string, readonly string[]>>): Answer =>
  json(400, { title: 'Validation failed', status: 400, errors })

/** Returns an error in the format of the token endpoint. */
export const invalidToken = (errors: Readonly<Record<string, readonly string[]>>): Answer => {
  const failures = Object.entries(errors).map(([property, [message]]) => ({ property, message }))
  return json(400, { title: 'Validation failed', status: 400, ValidationFailure: failures })
}

export const unauthorised = (reason: string, error = 'invalid_token'): Answer =>
  json(401, { title: 'Unauthorized', status: 401, detail: reason }, { 'WWW-Authenticate': `Bearer error="${error}"` })

export const wrongCredentials = (): Answer => plainStatus(401, 'Invalid client credentials')

export const forbidden = (report: string): Answer =>
  json(403, { title: 'Forbidden', status: 403, detail: `This client is not permitted to read ${report}.` })

export const tooMany = (retryAfterSeconds: number): Answer =>
  plainStatus(429, 'Too many requests', { 'Retry-After': String(retryAfterSeconds) })
