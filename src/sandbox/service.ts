/** Responds to a request, in this order: faults that replace the response, authentication, validation, rows. */
import { forbidden, invalid, invalidToken, plainStatus, tooMany, type Answer } from './answer.ts'
import type { Auth } from './auth.ts'
import type { FaultPlace, Faults } from './faults.ts'
import { parseExact } from './money.ts'
import type { Settings } from './options.ts'
import { Reporting } from './reporting.ts'
import type { Route } from './reports/index.ts'
import { checkBody, type Validation } from './validate.ts'
import type { World } from './world.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly authorization: string | undefined
  readonly body: string
}

export interface ServedResponse {
  readonly answer: Answer
  readonly client?: string
  readonly problems: readonly string[]
}

export interface ServiceOptions {
  readonly world: World
  readonly settings: Settings
  readonly faults: Faults
  readonly auth: Auth
  /** A fault that delays a response stops waiting when this signal aborts. */
  readonly closing: AbortSignal
}

type ParsedBody =
  | { readonly ok: true; readonly body: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly answer: Answer }

export class Service {
  readonly #parts: ServiceOptions
  readonly #reporting: Reporting

  constructor(parts: ServiceOptions) {
    this.#parts = parts
    this.#reporting = new Reporting(parts)
  }

  async token({ method, body }: ReceivedRequest): Promise<ServedResponse> {
    const replaced = await this.#faultAnswer('token', method)
    if (replaced !== undefined) return refused(replaced)
    const denied = this.#tokenFault()
    if (denied !== undefined) return refused(denied)
    const parsed = parseBody(body)
    const client = parsed.ok ? parsed.body['clientId'] : undefined
    const answer = parsed.ok ? await this.#parts.auth.requestToken(parsed.body) : invalidToken([NO_OBJECT])
    return { answer, problems: [], ...(typeof client === 'string' ? { client } : {}) }
  }

  async report(route: Route, received: ReceivedRequest): Promise<ServedResponse> {
    const { endpoint } = route
    const replaced = await this.#faultAnswer(endpoint.report, received.method)
    if (replaced !== undefined) return refused(replaced)
    const admitted = this.#parts.auth.admit(received.authorization, endpoint)
    const client = admitted.client?.clientId
    const served = 'refusal' in admitted ? refused(admitted.refusal) : this.#answer(route, received.body)
    return client === undefined ? served : { ...served, client }
  }

  #answer({ endpoint, enquiryId }: Route, text: string): ServedResponse {
    const parsed = parseBody(text)
    if (!parsed.ok) return refused(parsed.answer)
    const isFromZero = this.#parts.faults.peek('from-zero', endpoint.report) !== undefined
    const checked = checkBody(endpoint, parsed.body, isFromZero ? 0 : 1)
    const recordId = enquiryId === undefined ? undefined : pathNumber(enquiryId, parsed.body, checked)
    const refusal = this.#refusalOf(checked)
    const problems = [...Object.values(checked.errors), ...Object.values(checked.unknown)].flat()
    if (refusal !== undefined) return { answer: refusal, problems }
    return { answer: this.#reporting.answer(endpoint, checked.request, recordId), problems }
  }

  #refusalOf({ errors, unknown }: Validation): Answer | undefined {
    const all = this.#parts.settings.strictParameters ? { ...errors, ...unknown } : errors
    return Object.keys(all).length === 0 ? undefined : invalid(all)
  }

  #tokenFault(): Answer | undefined {
    const { faults } = this.#parts
    if (faults.take('401-once', 'token') !== undefined || faults.take('401-always', 'token') !== undefined) {
      return plainStatus(401, 'Invalid client credentials')
    }
    return faults.take('403', 'token') === undefined ? undefined : forbidden('tokens')
  }

  /** Returns status 405 if the method is not POST, or the response of an active fault. Otherwise returns undefined. */
  async #faultAnswer(place: FaultPlace, method: string): Promise<Answer | undefined> {
    if (method !== 'POST') return plainStatus(405, 'Method not allowed', { Allow: 'POST' })
    const { faults, settings, closing } = this.#parts
    const waitMs = faults.takeNumber('slow', place)
    if (waitMs !== undefined) await settings.clock.sleep(waitMs, closing)
    const retryAfter = faults.takeNumber('429', place)
    if (retryAfter !== undefined) return tooMany(retryAfter)
    const status = faults.takeNumber('5xx', place)
    if (status !== undefined) return plainStatus(status, 'Service failure')
    const location = faults.take('redirect', place)
    if (location !== undefined) return plainStatus(302, 'Found', { Location: location })
    if (faults.take('html', place) !== undefined) return HTML
    return faults.take('empty-body', place) === undefined ? undefined : { status: 200, body: '' }
  }
}

const NO_OBJECT = { property: '$', message: 'The request body must be a JSON object.' }

const HTML: Answer = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: '<!doctype html><html><body><h1>Scheduled maintenance</h1><p>We will be back soon.</p></body></html>',
}

const refused = (answer: Answer): ServedResponse => ({ answer, problems: [] })

function parseBody(text: string): ParsedBody {
  if (text === '') return { ok: false, answer: invalid({ $: ['A non-empty request body is required.'] }) }
  try {
    const body = parseExact(text)
    if (typeof body === 'object' && body !== null && !Array.isArray(body))
      return { ok: true, body: body as Record<string, unknown> }
    return { ok: false, answer: invalid({ $: [NO_OBJECT.message] }) }
  } catch {
    return { ok: false, answer: invalid({ $: ['The request body is not valid JSON.'] }) }
  }
}

function pathNumber(text: string, body: Readonly<Record<string, unknown>>, { errors }: Validation): number {
  const given = body['enquiryId'] ?? ''
  if (!/^\d{1,19}$/.test(text)) errors['enquiryId'] = ['The enquiryId in the path is not a valid integer.']
  else if (given !== '' && errors['enquiryId'] === undefined && BigInt(given as number) !== BigInt(text))
    errors['enquiryId'] = ['enquiryId in the body is not the one in the path.']
  return Number(text)
}
