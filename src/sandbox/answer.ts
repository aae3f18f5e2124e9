/** Response objects, and functions that create the specification's error responses (§7). */
import type { PropertyErrors } from './validate.ts'

export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  readonly contentType?: string
}

export const json = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  body: JSON.stringify(value),
  headers,
})

export const invalid = (errors: PropertyErrors): Answer =>
  json(400, { title: 'Validation failed', status: 400, errors })

/** Returns an error of the token endpoint, which lists failures in another format than the report endpoints. */
export const invalidToken = (failures: readonly { property: string; message: string }[]): Answer =>
  json(400, { title: 'Validation failed', status: 400, ValidationFailure: failures })

export const unauthorised = (reason: string, error = 'invalid_token'): Answer =>
  json(401, { title: 'Unauthorized', status: 401, detail: reason }, { 'WWW-Authenticate': `Bearer error="${error}"` })

export const forbidden = (report: string): Answer =>
  json(403, { title: 'Forbidden', status: 403, detail: `This client is not permitted to read ${report}.` })

export const tooMany = (retryAfterSeconds: number): Answer =>
  json(429, { title: 'Too many requests', status: 429 }, { 'Retry-After': String(retryAfterSeconds) })

export const plainStatus = (status: number, title: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  json(status, { title, status }, headers)
