/** Responds to a request. Checks for faults first, then the token, then the parameters, and reads rows last. */
import { attempt } from '../errors.ts'
import { forbidden, invalid, invalidToken, plainStatus, tooMany, wrongCredentials, type Answer } from './answer.ts'
import type { Auth } from './auth.ts'
import type { FaultPlace } from './faults.ts'
import { parseExact } from './money.ts'
import type { SandboxState } from './options.ts'
import { answerReport } from './reporting.ts'
import { type Route, routeOf } from './reports/index.ts'
import { type Body, checkBody, isObject, type PropertyErrors } from './validate.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly text: string
}

export interface ServedResponse {
  readonly answer: Answer
  readonly place?: FaultPlace
  readonly client?: string
  readonly problems?: readonly string[]
}

const TOKEN_PATH = '/authenticationapi/Account/RequestToken'

export async function serve(state: SandboxState, auth: Auth, request: ReceivedRequest): Promise<ServedResponse> {
  const route = routeOf(request.path)
  const place = request.path === TOKEN_PATH ? 'token' : route?.endpoint.report
  if (place === undefined) return { answer: plainStatus(404, 'Not found') }
  const isPost = request.method === 'POST'
  const replaced = isPost ? await faultAnswer(state, place) : plainStatus(405, 'Method not allowed', { Allow: 'POST' })
  if (replaced !== undefined) return { place, answer: replaced }
  if (route === undefined) return { place, ...(await tokenAnswer(state, auth, request.text)) }
  const { client, refusal } = auth.admit(request.authorization, route.endpoint)
  const served = refusal === undefined ? reportAnswer(state, route, request.text) : { answer: refusal }
  return { place, ...served, ...(client && { client: client.clientId }) }
}

async function tokenAnswer({ faults }: SandboxState, auth: Auth, text: string): Promise<ServedResponse> {
  const denied = faults.answer('token', {
    '401-once': wrongCredentials,
    '401-always': wrongCredentials,
    '403': () => forbidden('tokens'),
  })
  if (denied !== undefined) return { answer: denied }
  const body = parseBody(text)
  if (typeof body === 'string') return { answer: invalidToken({ $: [body] }) }
  const client = body['clientId']
  return { answer: await auth.requestToken(body), ...(typeof client === 'string' && { client }) }
}

function reportAnswer(state: SandboxState, { endpoint, enquiryId }: Route, text: string): ServedResponse {
  const received = parseBody(text)
  if (typeof received === 'string') return { answer: invalid({ $: [received] }) }
  const { renames = {} } = endpoint
  const body = Object.fromEntries(Object.entries(received).map(([name, value]) => [renames[name] ?? name, value]))
  const isFromZero = state.faults.peek('from-zero', endpoint.report) !== undefined
  const { errors, unknown, request } = checkBody(endpoint, body, isFromZero ? 0 : 1)
  const recordId = enquiryId === undefined ? undefined : pathNumber(enquiryId, body, errors)
  const refused = state.settings.strictParameters ? { ...errors, ...unknown } : errors
  const isRefused = Object.keys(refused).length > 0
  const answer = isRefused ? invalid(refused) : answerReport(state, endpoint, { ...request, enquiryId: recordId })
  return { answer, problems: Object.values({ ...errors, ...unknown }).flat() }
}

async function faultAnswer(
  { faults, settings, closing }: SandboxState,
  place: FaultPlace,
): Promise<Answer | undefined> {
  const waitMs = faults.takeNumber('slow', place)
  if (waitMs !== undefined) await settings.clock.sleep(waitMs, closing)
  return faults.answer(place, {
    '429': (seconds) => tooMany(Number(seconds)),
    '5xx': (status) => plainStatus(Number(status), 'Service failure'),
    redirect: (location) => plainStatus(302, 'Found', { Location: location }),
    html: () => HTML,
    'empty-body': () => ({ status: 200, body: '' }),
  })
}

const HTML: Answer = {
  status: 200,
  headers: { 'Content-Type': 'text/html; charset=utf-8' },
  body: '<!doctype html><html><body><h1>Scheduled maintenance</h1><p>We will be back soon.</p></body></html>',
}

/** Returns an error message if the body is not a JSON object. */
function parseBody(text: string): Body | string {
  if (text === '') return 'A non-empty request body is required.'
  const body = attempt(() => parseExact(text), undefined)
  if (body === undefined) return 'The request body is not valid JSON.'
  return isObject(body) ? body : 'The request body must be a JSON object.'
}

function pathNumber(text: string, body: Body, errors: PropertyErrors): number {
  const given = body['enquiryId'] ?? ''
  if (!/^\d{1,19}$/.test(text)) errors['enquiryId'] = ['The enquiryId in the path is not a valid integer.']
  else if (given !== '' && errors['enquiryId'] === undefined && BigInt(given as number) !== BigInt(text))
    errors['enquiryId'] = ['enquiryId in the body is not the one in the path.']
  return Number(text)
}
