/** The token endpoint and what a token opens (spec §4 RequestToken, §5, §7). */
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, it } from 'vitest'
import { aCaller } from './caller.ts'
import { HandClock } from './handClock.ts'
import { LEAST, PATHS, type Report, SCOPES_OF } from './specification.ts'

const GOOD = { clientId: 'demo', clientSecret: 'demo-secret' }

describe('a token request', () => {
  it('is answered with a JWT, its lifetime in seconds and the type Bearer', async () => {
    await using caller = await aCaller({ tokenLifetimeSeconds: 900 })
    const response = await caller.requestToken(GOOD)
    const token = (await response.json()) as { accessToken: string; expiresIn: number; tokenType: string }
    const claims = decodeJwt(token.accessToken)
    expect(response.status).toBe(200)
    expect(token).toEqual({ accessToken: expect.any(String) as string, expiresIn: 900, tokenType: 'Bearer' })
    expect(decodeProtectedHeader(token.accessToken).alg).toBe('HS256')
    expect(Number(claims.exp) - Number(claims.iat)).toBe(900)
  })

  it('gets the scopes it asks for, and the default scopes of the client when it asks for none', async () => {
    await using caller = await aCaller()
    const asked = decodeJwt(await caller.token('event.read enquiries.read'))
    const all = decodeJwt(await caller.token())
    expect(asked['scope']).toBe('event.read enquiries.read')
    expect(String(all['scope']).split(' ')).toContain('merf.read')
  })

  it.each([
    ['without a secret', { clientId: 'demo' }, 'clientSecret'],
    ['with an empty id', { clientId: '', clientSecret: 'x' }, 'clientId'],
    ['with a number as id', { clientId: 7, clientSecret: 'x' }, 'clientId'],
    ['with an array of scopes', { ...GOOD, scopes: ['event.read'] }, 'scopes'],
    ['with an unknown property', { ...GOOD, audience: 'x' }, 'audience'],
    ['that is no JSON', 'clientId=demo', '$'],
  ])('%s is answered with 400 and a ValidationFailure array', async (_, body, property) => {
    await using caller = await aCaller()
    const response = await caller.requestToken(body)
    const answer = (await response.json()) as { ValidationFailure: { property: string }[] }
    expect(response.status).toBe(400)
    expect(answer.ValidationFailure.map((failure) => failure.property)).toEqual([property])
  })

  it('is answered with 401 for a wrong id, a wrong secret or a disabled client', async () => {
    const clients = [{ clientId: 'old', clientSecret: 'secret', scopes: [], disabled: true }]
    await using caller = await aCaller({ clients })
    const asked = [
      { clientId: 'nobody', clientSecret: 'secret' },
      { clientId: 'old', clientSecret: 'wrong' },
      { clientId: 'old', clientSecret: 'secret' },
    ]
    const statuses = await Promise.all(asked.map(async (body) => (await caller.requestToken(body)).status))
    expect(statuses).toEqual([401, 401, 401])
  })

  it('is answered with 422 when it asks for a scope that the client does not have', async () => {
    await using caller = await aCaller()
    expect((await caller.requestToken({ ...GOOD, scopes: 'event.read moon.read' })).status).toBe(422)
  })

  it('is answered with 429 and Retry-After above the limit, until a minute has passed', async () => {
    const clock = new HandClock()
    await using caller = await aCaller({ clock, tokenRequestsPerMinute: 2 })
    await caller.requestToken(GOOD)
    clock.move(15_000)
    await caller.requestToken(GOOD)
    const refused = await caller.requestToken(GOOD)
    clock.move(45_000)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('45')
    expect((await caller.requestToken(GOOD)).status).toBe(200)
  })

  it('never shows its body in the log of requests', async () => {
    await using caller = await aCaller()
    await caller.token()
    expect(JSON.stringify(caller.sandbox.requests.list())).not.toContain('demo-secret')
  })
})

describe.each(Object.keys(PATHS) as Report[])('%s', (report) => {
  it('answers 401 without a token, with a foreign one and with another scheme', async () => {
    await using caller = await aCaller()
    const headers = [{}, { Authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.AAAA' }, { Authorization: 'Basic ZGVtbw==' }]
    const answers = await Promise.all(
      headers.map((each) => caller.post(PATHS[report], LEAST[report], each as Record<string, string>)),
    )
    expect(answers.map((answer) => answer.status)).toEqual([401, 401, 401])
    expect(answers[0]?.headers.get('www-authenticate')).toMatch(/^Bearer/)
  })

  it('answers 401 once the token has expired', async () => {
    const clock = new HandClock()
    await using caller = await aCaller({ clock, tokenLifetimeSeconds: 60 })
    const before = await caller.report(report)
    clock.move(60_000)
    expect([before.status, (await caller.report(report)).status]).toEqual([200, 401])
  })

  it('answers 401 to a token without its scope and 200 to one that has only its scope', async () => {
    await using caller = await aCaller()
    const others = Object.values(SCOPES_OF).filter((scope) => scope !== SCOPES_OF[report])
    const statuses = []
    for (const granted of [others.join(' '), SCOPES_OF[report]]) {
      const headers = { Authorization: `Bearer ${await caller.token(granted)}` }
      statuses.push((await caller.post(PATHS[report], LEAST[report], headers)).status)
    }
    expect(statuses).toEqual([401, 200])
  })

  it('answers 403 to a client that may not read it', async () => {
    const clients = [
      { clientId: 'demo', clientSecret: 'demo-secret', scopes: Object.values(SCOPES_OF), forbidden: [report] },
    ]
    await using caller = await aCaller({ clients })
    expect((await caller.report(report)).status).toBe(403)
  })
})
