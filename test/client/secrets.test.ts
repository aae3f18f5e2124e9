/** The client's secret and its tokens appear nowhere, not even when the service throws them back (promise 8). */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { problemsIn } from '../../src/client/problems.ts'
import { Redactor } from '../../src/client/redaction.ts'
import { Secret } from '../../src/secret.ts'
import { aClient, aRequest, aService, CLIENT_SECRET, failureOf, json, type Reply, status } from './support.ts'

const TOKEN = 'marked-token-9f8e7d'
const issue = json({ accessToken: TOKEN, expiresIn: 3600, tokenType: 'Bearer' })

/** Every spelling of the secret that a body below might use. */
const SPELLINGS = [
  TOKEN,
  CLIENT_SECRET,
  JSON.stringify(CLIENT_SECRET).slice(1, -1),
  encodeURIComponent(CLIENT_SECRET),
  'marked-"secret"',
  'marked-&quot;secret',
  'marked-\\u0022secret',
  'marked-%22secret',
  Buffer.from(CLIENT_SECRET).toString('base64'),
]

const echo = `you sent ${CLIENT_SECRET} and Bearer ${TOKEN}, that is ${encodeURIComponent(CLIENT_SECRET)} or
  ${CLIENT_SECRET.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')} or
  ${Buffer.from(CLIENT_SECRET).toString('base64')}`
const escaped = `{"message":"${CLIENT_SECRET.split('')
  .map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  .join('')}"`

const echoing = (code: number): Reply[] => [
  status(code, echo),
  json({ errors: { [CLIENT_SECRET]: [echo], token: TOKEN } }, code),
  json({ ValidationFailure: [{ propertyName: TOKEN, errorMessage: echo }] }, code),
  json({ anything: { deep: [echo] } }, code),
  status(code, escaped),
  status(code, `${escaped}}`),
  status(code, `<html>${echo}</html>`),
  status(code, '', { location: `http://${TOKEN}.example/?secret=${encodeURIComponent(CLIENT_SECRET)}` }),
]

function everythingShown(value: unknown): string {
  const stack = value instanceof Error ? `${value.message} ${value.stack} ${String(value)}` : String(value)
  return [stack, JSON.stringify(value), inspect(value, { depth: 10, showHidden: true })].join('\n')
}

function expectNoSecretIn(value: unknown): void {
  const shown = everythingShown(value)
  for (const spelling of SPELLINGS) expect(shown).not.toContain(spelling)
}

const nothing = () => []

const CODES = [200, 302, 400, 401, 403, 404, 422, 429, 500, 503]

describe('secrets', () => {
  it.each(CODES)(
    'appear in no error or event when a report answers %i and echoes them',
    { tags: 'long' },
    async (code) => {
      for (const report of echoing(code)) {
        await using service = await aService({ report, token: issue })
        await using client = aClient(service)
        const outcome = await client.read(aRequest({ parse: nothing })).catch((error: unknown) => error)
        expectNoSecretIn(outcome)
        expectNoSecretIn(client.events)
        expectNoSecretIn(client)
      }
    },
  )

  it.each(CODES)(
    'appear in no error or event when the token endpoint answers %i and echoes them',
    { tags: 'long' },
    async (code) => {
      for (const token of echoing(code)) {
        await using service = await aService({ token })
        await using client = aClient(service)
        // A token that was never issued to this client is known by nothing but its scheme.
        const error = await failureOf(client.token())
        for (const spelling of SPELLINGS.filter((each) => each !== TOKEN)) {
          expect(everythingShown(error)).not.toContain(spelling)
        }
        expectNoSecretIn(client)
      }
    },
  )

  it.each<[string, Reply]>([
    ['a wrong type', json({ accessToken: TOKEN, expiresIn: 3600, tokenType: 'MAC' })],
    ['no lifetime', json({ accessToken: TOKEN, tokenType: 'Bearer' })],
    ['a cut body', status(200, `{"accessToken":"${TOKEN}"`)],
  ])('do not appear when a token comes with %s', async (_, token) => {
    await using service = await aService({ token })
    await using client = aClient(service)
    expectNoSecretIn(await failureOf(client.token()))
  })

  it.each<[string, Reply]>([
    ['cut', (response) => void response.destroy()],
    [
      'no HTTP',
      (response, call) => void response.socket?.end(`${call.headers.authorization} ${CLIENT_SECRET}\r\n\r\n`),
    ],
    [
      'broken in its headers',
      (response, call) => void response.socket?.end(`HTTP/1.1 200 OK\r\n${call.headers.authorization}\r\n\r\n`),
    ],
  ])('do not appear when the connection is %s', async (_, report) => {
    await using service = await aService({ report, token: issue })
    await using client = aClient(service)
    expectNoSecretIn(await failureOf(client.read(aRequest())))
  })

  it('do not appear in a client, before or after it was used', async () => {
    await using service = await aService({ token: issue })
    await using client = aClient(service)
    expectNoSecretIn(client)
    await client.read(aRequest())
    expectNoSecretIn(client)
    expectNoSecretIn(client.events)
  })

  it('are masked before the text is cut, so that no half of one is left at the end', () => {
    const redactor = new Redactor(new Secret('a-long-client-secret'))
    expect(redactor.shown('x'.repeat(15) + 'a-long-client-secret', 20)).toBe(`${'x'.repeat(15)}[sec…`)
  })

  it('of any JWT look are masked, whoever they belong to', () => {
    const redactor = new Redactor(new Secret('s3cret'))
    expect(redactor.shown('token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln!', 99)).toBe('token [secret]!')
  })
})

const read = (body: unknown) => problemsIn(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))

describe('problems in a refusal', () => {
  it.each<[string, unknown]>([
    ['an object of arrays', { errors: { pageSize: ['too large'] } }],
    ['an object of texts', { Errors: { pageSize: 'too large' } }],
    ['a list with property', { errors: [{ property: 'pageSize', message: 'too large' }] }],
    ['a list with propertyName', { ValidationFailure: [{ propertyName: 'pageSize', errorMessage: 'too large' }] }],
    ['a list in PascalCase', { ValidationFailures: [{ PropertyName: 'pageSize', ErrorMessage: 'too large' }] }],
    ['a list with field', { errors: [{ field: 'pageSize', message: 'too large' }] }],
    ['a bare list', [{ propertyName: 'pageSize', errorMessage: 'too large' }]],
  ])('are understood as %s', (_, body) => {
    expect(read(body)).toEqual([{ property: 'pageSize', message: 'too large' }])
  })

  it.each<[string, unknown, string]>([
    ['a title alone', { title: 'Bad request', status: 400 }, 'Bad request'],
    ['a text', '"no such company"', 'no such company'],
    ['no JSON', 'no such company', 'no such company'],
    ['an unknown layout', { what: [1, { else: true }] }, '{"what":[1,{"else":true}]}'],
    ['an empty list', { errors: [], title: 'Bad' }, 'Bad'],
    ['null', 'null', 'null'],
  ])('are shown as they came from %s', (_, body, message) => {
    expect(read(body)).toEqual([{ property: undefined, message }])
  })

  it('are none in an empty body', () => {
    expect(read('')).toEqual([])
  })
})
