/**
 * Talks to a sandbox as a client would, with nothing but fetch: what these tests know of the service is its
 * specification.
 */
import { startSandbox, type Sandbox, type SandboxOptions, type WorldReport } from '../../src/sandbox/server.ts'
import { KEYS, LEAST, PATHS, type Report } from './specification.ts'

export type Row = Record<string, unknown>
export type Body = Record<string, unknown>

export interface Envelope {
  items: Row[]
  pageNumber: number
  pageSize: number
  totalCount: number
}

export class Caller implements AsyncDisposable {
  readonly sandbox: Sandbox
  #token: string | undefined

  constructor(sandbox: Sandbox) {
    this.sandbox = sandbox
  }

  get world(): Sandbox['world'] {
    return this.sandbox.world
  }

  requestToken(body: unknown): Promise<Response> {
    return fetch(`${this.sandbox.url}/authenticationapi/Account/RequestToken`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  async token(scopes?: string): Promise<string> {
    const asked = { clientId: 'demo', clientSecret: 'demo-secret', ...(scopes === undefined ? {} : { scopes }) }
    const { accessToken } = (await (await this.requestToken(asked)).json()) as { accessToken: string }
    return accessToken
  }

  /** One request with a good token, or with the headers given. */
  async post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response> {
    this.#token ??= await this.token()
    return fetch(`${this.sandbox.url}/reportingapi${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: headers ?? { Authorization: `Bearer ${this.#token}` },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  report(report: Report, body: Body = {}): Promise<Response> {
    return this.post(PATHS[report], { ...LEAST[report], ...body })
  }

  /** The rows of one answer, whether they come in an envelope or as a bare array. */
  async rows(report: Report, body: Body = {}): Promise<Row[]> {
    const answer = (await (await this.report(report, { pageSize: 1_000, ...body })).json()) as Row[] | Envelope
    return Array.isArray(answer) ? answer : answer.items
  }

  async keys(report: WorldReport, body: Body = {}): Promise<number[]> {
    return (await this.rows(report, body)).map((row) => Number(row[KEYS[report]]))
  }

  async envelope(report: Report, body: Body = {}): Promise<Envelope> {
    return (await (await this.report(report, body)).json()) as Envelope
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandbox.close()
  }
}

export async function aCaller(options: SandboxOptions = {}): Promise<Caller> {
  return new Caller(await startSandbox({ rows: 120, ...options }))
}

export const sorted = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b)
