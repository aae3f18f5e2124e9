/**
 * The service in this process: a dispatcher in the place of undici's pool. It takes what the client sends, lets virtual
 * time pass, answers from the model, and breaks what the seed's faults break.
 */
import { STATUS_CODES } from 'node:http'
import { Dispatcher } from 'undici'
import type { Chance } from './chance.ts'
import type { Fault, FaultSource } from './faults.ts'
import type { History } from './history.ts'
import { answerEntries, answerRecords, type Body, type PageParts } from './model/pages.ts'
import type { World } from './model/world.ts'
import type { Scenario } from './scenario.ts'
import { EPOCH_MS, type Timeline } from './timeline.ts'
import { Tokens } from './tokens.ts'

type Handler = Dispatcher.DispatchHandler

interface Answer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** The connection breaks after so much of the body. */
  readonly breaksAfter?: number
}

const PATHS = {
  '/reportingapi/v1/EventReport/GetEventsReport': 'events',
  '/reportingapi/v1/BudgetReport/GetBudgetsReport': 'budgets',
  '/reportingapi/v1/EnquiryReport/GetEnquiriesReport': 'enquiries',
} as const
const AUDIT_PATH = /^\/reportingapi\/v1\/EnquiryReport\/(\d+)\/Audit$/
const TOKEN_PATH = '/authenticationapi/Account/RequestToken'

const TRANSPORT: readonly (readonly [Fault, number])[] = [
  ['throttled', 0.06],
  ['serverError', 0.08],
  ['timeout', 0.05],
  ['resetMidBody', 0.08],
  ['truncatedJson', 0.08],
  ['webPage', 0.05],
]
const JSON_TYPE = { 'content-type': 'application/json' }
const PROBLEM: Answer = { status: 500, body: '{"title":"error"}' }

const pageOr404 = (body: string | undefined): Answer =>
  body === undefined ? { ...PROBLEM, status: 404 } : { status: 200, body }

export interface ServiceOptions {
  readonly scenario: Scenario
  readonly world: World
  readonly faults: FaultSource
  readonly chance: Chance
  readonly timeline: Timeline
  readonly history: History
}

export class Service extends Dispatcher {
  readonly tokens: Tokens
  requests = 0
  /** An operator's refusal: every report request is answered so until it is taken back. */
  refusal: 'scopeRefused' | 'forbidden' | undefined
  readonly #parts: ServiceOptions
  readonly #pages: PageParts
  readonly #open = new Set<Exchange>()

  constructor(parts: ServiceOptions) {
    super()
    this.#parts = parts
    this.#pages = parts
    this.tokens = new Tokens(parts)
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    const exchange = new Exchange(handler, () => this.#open.delete(exchange))
    this.#open.add(exchange)
    const { timeline, faults } = this.#parts
    const isSlow = faults.strikes('slow', 0.03)
    timeline.schedule(this.#way(), () => this.#arrive(options, exchange, isSlow ? 200_000 : 0))
    return true
  }

  /** The process that asked is gone: nothing reaches it any more. */
  cut(): void {
    for (const exchange of this.#open) exchange.fail(connectionError('ECONNRESET'))
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: () => void): Promise<void> | void {
    return callback === undefined ? Promise.resolve() : callback()
  }

  #way(): number {
    return this.#parts.chance.int(5, 200)
  }

  #arrive(options: Dispatcher.DispatchOptions, exchange: Exchange, delayMs: number): void {
    if (exchange.isOver) return
    const { timeline, world, history } = this.#parts
    const body = JSON.parse(options.body as string) as Body
    const answer = options.path === TOKEN_PATH ? this.#token() : this.#report(options, body)
    history.tell(() => {
      const asked = options.path === TOKEN_PATH ? '' : askedText(body)
      return `${options.path} ${asked} → ${answer === undefined ? 'silence' : `${answer.status} ${answer.body.slice(0, 60)}`}`
    })
    if (answer === undefined) return
    const date = new Date(Math.floor((EPOCH_MS + timeline.nowMs) / 1_000) * 1_000).toUTCString()
    const dated = this.#parts.scenario.faults.has('noDateHeader') ? {} : { date }
    if (answer.status === 200) world.disturb()
    timeline.schedule(this.#way() + delayMs, () =>
      exchange.answer({ ...answer, headers: { ...JSON_TYPE, ...dated, ...answer.headers } }),
    )
  }

  #token(): Answer | undefined {
    const { faults, chance } = this.#parts
    if (faults.strikes('serverError', 0.05)) return this.tokens.failed({ ...PROBLEM, status: 503 })
    if (faults.strikes('throttled', 0.03))
      return this.tokens.failed({ ...PROBLEM, status: 429, headers: { 'retry-after': '2' } })
    return { status: 200, body: this.tokens.issue(chance) }
  }

  #report(options: Dispatcher.DispatchOptions, body: Body): Answer | undefined {
    const { faults, chance } = this.#parts
    this.requests += 1
    if (faults.strikes('tokenRevoked', 0.05)) this.tokens.revokeAll()
    if (this.refusal === 'scopeRefused' || !this.tokens.isValid(headerOf(options, 'authorization'))) {
      return this.tokens.refused({ status: 401, body: '' })
    }
    if (this.refusal === 'forbidden') return { status: 403, body: '' }
    const fault = TRANSPORT.find(([name, probability]) => faults.strikes(name, probability))?.[0]
    if (fault === 'throttled') return { ...PROBLEM, status: 429, headers: { 'retry-after': String(chance.int(0, 20)) } }
    if (fault === 'serverError') return { ...PROBLEM, status: chance.pick([500, 502, 503, 504]) }
    if (fault === 'webPage')
      return { status: 200, body: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } }
    if (fault === 'timeout') return undefined
    const answer = this.#rows(options.path, body)
    if (fault === 'truncatedJson')
      return { ...answer, body: answer.body.slice(0, chance.int(0, answer.body.length - 1)) }
    return fault === 'resetMidBody' ? { ...answer, breaksAfter: chance.int(0, answer.body.length - 1) } : answer
  }

  #rows(path: string, body: Body): Answer {
    const report = PATHS[path as keyof typeof PATHS]
    if (report !== undefined) return pageOr404(answerRecords(this.#pages, report, body))
    const enquiry = AUDIT_PATH.exec(path)?.[1]
    return pageOr404(enquiry === undefined ? undefined : answerEntries(this.#pages, Number(enquiry), body))
  }
}

/** One request and its answer, as undici's own pool would tell them. */
class Exchange implements Dispatcher.DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  isOver = false
  readonly #handler: Handler
  readonly #ended: () => void

  constructor(handler: Handler, ended: () => void) {
    this.#handler = handler
    this.#ended = ended
    handler.onRequestStart?.(this, {})
  }

  abort(reason: Error): void {
    this.aborted = true
    this.reason = reason
    this.fail(reason)
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  fail(error: Error): void {
    if (this.isOver) return
    this.#end()
    this.#handler.onResponseError?.(this, error)
  }

  answer({ status, body, headers, breaksAfter }: Answer): void {
    if (this.isOver) return
    this.#handler.onResponseStart?.(this, status, { ...headers }, STATUS_CODES[status])
    if (this.isOver) return
    const bytes = Buffer.from(body)
    this.#handler.onResponseData?.(this, breaksAfter === undefined ? bytes : bytes.subarray(0, breaksAfter))
    if (breaksAfter !== undefined) return this.fail(connectionError('UND_ERR_SOCKET'))
    this.#end()
    this.#handler.onResponseEnd?.(this, {})
  }

  #end(): void {
    this.isOver = true
    this.#ended()
  }
}

function connectionError(code: string): Error {
  return Object.assign(new Error(`connection lost: ${code}`), { code })
}

function headerOf(options: Dispatcher.DispatchOptions, name: string): string {
  const value = (options.headers as Readonly<Record<string, string>>)[name]
  return value ?? ''
}

const askedText = (body: Body): string => JSON.stringify({ ...body, expand: undefined })
