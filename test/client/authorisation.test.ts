/** Tokens and the statuses 401 and 403: one token for everybody, one refresh at a time, and no hammering (spec §5). */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { StoredToken, TokenStore } from '../../src/client/reporting.ts'
import { SyncError } from '../../src/errors.ts'
import { fromMillis } from '../../src/instant.ts'
import { Secret } from '../../src/secret.ts'
import {
  aClient,
  aRequest,
  aService,
  CLIENT_SECRET,
  failureOf,
  inTurn,
  json,
  QuickClock,
  type Reply,
  status,
} from './support.ts'

/** Lets in only these tokens, as a service that revoked the others does. */
const onlyWith =
  (...tokens: string[]): Reply =>
  (response, call, number) =>
    tokens.some((token) => call.headers.authorization === `Bearer ${token}`)
      ? json([])(response, call, number)
      : status(401)(response, call, number)

const slowly =
  (reply: Reply): Reply =>
  async (response, call, number) => {
    await sleep(30)
    await reply(response, call, number)
  }

const tokenOf = (accessToken: string, expiresIn = 3600) => json({ accessToken, expiresIn, tokenType: 'Bearer' })

const tenTimes = <T>(action: () => Promise<T>) => Promise.all(Array.from({ length: 10 }, action))

describe('the token request', () => {
  it('sends client id, secret and the scopes separated by spaces', async () => {
    await using service = await aService()
    await using client = aClient(service, { settings: { scopes: ['event.read', 'enquiries.read'] } })
    await client.token()
    expect(service.tokens[0]?.body).toEqual({
      clientId: 'acme',
      clientSecret: CLIENT_SECRET,
      scopes: 'event.read enquiries.read',
    })
  })

  it.each([undefined, []])(
    'leaves scopes out when there are none (%o), so that the default scopes apply',
    async (scopes) => {
      await using service = await aService()
      await using client = aClient(service, { settings: { scopes } })
      await client.token()
      expect(service.tokens[0]?.body).toEqual({ clientId: 'acme', clientSecret: CLIENT_SECRET })
    },
  )

  it('sends the secret that its file holds by then, and keeps the one before while there is none', async () => {
    await using service = await aService({ token: tokenOf('marked-token', 1), report: json([]) })
    const clock = new QuickClock()
    const held = [undefined, 'marked-new-secret', undefined]
    const clientSecret = new Secret(CLIENT_SECRET, async () => held.shift())
    await using client = aClient(service, { clock, settings: { clientSecret } })
    for (const _ of [1, 2, 3]) {
      await client.token()
      await clock.sleep(2_000)
    }
    const sent = service.tokens.map(({ body }) => body['clientSecret'])
    expect(sent).toEqual([CLIENT_SECRET, 'marked-new-secret', 'marked-new-secret'])
    expect(client.events.filter(({ kind }) => kind === 'secret changed')).toHaveLength(1)
  })

  it('tells when the token ends and which scopes its JWT grants', async () => {
    const claims = Buffer.from(JSON.stringify({ scope: 'event.read enquiries.read' })).toString('base64url')
    await using service = await aService({ token: tokenOf(`eyJhbGciOiJub25lIn0.${claims}.sig`) })
    const clock = new QuickClock()
    await using client = aClient(service, { clock })
    expect(await client.token()).toEqual({
      expiresAt: fromMillis(clock.wallMs + 3_600_000),
      scopes: ['event.read', 'enquiries.read'],
    })
  })

  it('tells no scopes when the token is no JWT', async () => {
    await using service = await aService()
    await using client = aClient(service)
    expect((await client.token()).scopes).toBeUndefined()
  })

  it.each([
    ['another token type', { accessToken: 'a', expiresIn: 60, tokenType: 'MAC' }, ['tokenType']],
    ['no token', { expiresIn: 60, tokenType: 'Bearer' }, ['accessToken']],
    ['a token that fits no header', { accessToken: 'a\r\nb', expiresIn: 60, tokenType: 'Bearer' }, ['accessToken']],
    ['a lifetime of nothing', { accessToken: 'a', expiresIn: 0, tokenType: 'Bearer' }, ['expiresIn']],
    ['no object', [], ['body']],
  ])('says TOKEN_UNUSABLE for an answer with %s', async (_, answer, fields) => {
    await using service = await aService({ token: json(answer) })
    await using client = aClient(service)
    expect(await failureOf(client.read(aRequest()))).toMatchObject({ code: 'TOKEN_UNUSABLE', data: { fields } })
    expect(service.tokens).toHaveLength(1)
  })

  it.each([
    ['an empty body', status(200), 'TOKEN_UNUSABLE', 1],
    ['a web page', status(200, '<html>'), 'ANSWER_NOT_JSON', 3],
    ['a redirect', status(302, '', { location: 'http://login.example/?x=1' }), 'REDIRECTED', 1],
    ['a path that is not there', status(404), 'STATUS_UNEXPECTED', 1],
    ['trouble of its own', status(503), 'SERVICE_UNAVAILABLE', 3],
    ['a body it cannot process', status(422, '{"message":"scope x"}'), 'TOKEN_UNPROCESSABLE', 1],
    ['a rate limit', status(429), 'TOKEN_RATE_LIMITED', 3],
  ] as const)('answered with %3$s… says so: %s', async (_, token, code, requests) => {
    await using service = await aService({ token })
    await using client = aClient(service)
    expect(await failureOf(client.token())).toMatchObject({ code })
    expect(service.tokens).toHaveLength(requests)
  })

  it('shows the properties of a ValidationFailure array', async () => {
    const body = { ValidationFailure: [{ propertyName: 'Scopes', errorMessage: 'unknown scope x.read' }] }
    await using service = await aService({ token: json(body, 400) })
    await using client = aClient(service)
    const error = await failureOf(client.token())
    expect(error.code).toBe('TOKEN_REQUEST_INVALID')
    expect(error.message).toContain('Scopes: unknown scope x.read')
    expect(error.data['problems']).toEqual([{ property: 'Scopes', message: 'unknown scope x.read' }])
  })

  it('obeys Retry-After of a 429', async () => {
    const clock = new QuickClock()
    await using service = await aService({ token: inTurn(status(429, '', { 'retry-after': '7' }), tokenOf('a')) })
    await using client = aClient(service, { clock })
    await client.token()
    expect(clock.sleeps).toEqual([7_000])
    expect(client.counters).toMatchObject({ throttled: 1, tokenRequests: 2 })
  })

  it('never hammers wrong credentials: after one 401 no token request is sent any more', async () => {
    await using service = await aService({ token: status(401) })
    await using client = aClient(service)
    for (const call of [client.token(), client.token(), client.read(aRequest()), client.read(aRequest())]) {
      expect((await failureOf(call)).code).toBe('CREDENTIALS_REFUSED')
    }
    expect((await failureOf(client.read(aRequest()))).cure).toContain('tidemark check')
    expect(service.tokens).toHaveLength(1)
  })

  it('tries credentials again once their secret has changed', async () => {
    await using service = await aService({ token: inTurn(status(401), tokenOf('good')), report: json([]) })
    const held = [undefined, undefined, 'marked-new-secret']
    const clientSecret = new Secret(CLIENT_SECRET, async () => held.shift())
    await using client = aClient(service, { settings: { clientSecret } })
    for (const _ of [1, 2]) expect((await failureOf(client.token())).code).toBe('CREDENTIALS_REFUSED')
    await client.read(aRequest())
    const sent = service.tokens.map(({ body }) => body['clientSecret'])
    expect(sent).toEqual([CLIENT_SECRET, 'marked-new-secret'])
  })

  it('tries credentials again once an operator resumes', async () => {
    await using service = await aService({ token: inTurn(status(401), tokenOf('good')) })
    await using client = aClient(service)
    await failureOf(client.token())
    await client.resume()
    await client.read(aRequest())
    expect(service.tokens).toHaveLength(2)
  })
})

describe('the cached token', () => {
  it('is asked for once by many reads at once, and used by all', async () => {
    await using service = await aService({ token: slowly(tokenOf('shared')) })
    await using client = aClient(service)
    await tenTimes(() => client.read(aRequest()))
    expect(service.tokens).toHaveLength(1)
    expect(service.seen.atOnceMax).toBeLessThanOrEqual(4)
  })

  it('fails all who wait with the one error, and is asked for again later', async () => {
    await using service = await aService({ token: inTurn(slowly(status(422)), tokenOf('later')) })
    await using client = aClient(service)
    const errors = await Promise.all(Array.from({ length: 2 }, () => failureOf(client.read(aRequest()))))
    expect(errors.map(({ code }) => code)).toEqual(Array(2).fill('TOKEN_UNPROCESSABLE'))
    expect(service.tokens).toHaveLength(1)
    await client.read(aRequest())
    expect(service.tokens).toHaveLength(2)
  })

  it.each([
    [3_600, 3_539_000, 3_541_000],
    [60, 47_000, 49_000],
  ])('of %i s is used until its margin begins and renewed then', async (expiresIn, usedMs, renewedMs) => {
    const clock = new QuickClock()
    await using service = await aService({ token: tokenOf('t', expiresIn) })
    await using client = aClient(service, { clock })
    await client.read(aRequest())
    clock.pass(usedMs)
    await client.read(aRequest())
    expect(service.tokens).toHaveLength(1)
    clock.pass(renewedMs - usedMs)
    await client.read(aRequest())
    expect(service.tokens).toHaveLength(2)
  })

  it('lives from the request that brought it: what was waited for before it is none of its life', async () => {
    await using service = await aService({ token: inTurn(status(429, '', { 'retry-after': '60' }), tokenOf('t', 60)) })
    await using client = aClient(service, { clock: new QuickClock() })
    await client.read(aRequest())
    await client.read(aRequest())
    expect(service.tokens).toHaveLength(2)
  })

  it('does not care about jumps of the wall clock', async () => {
    const clock = new QuickClock()
    await using service = await aService()
    await using client = aClient(service, { clock })
    await client.read(aRequest())
    clock.wallMs += 100 * 3_600_000
    await client.read(aRequest())
    clock.wallMs -= 500 * 3_600_000
    await client.read(aRequest())
    expect(service.tokens).toHaveLength(1)
    clock.elapsedMs += 3_600_000
    await client.read(aRequest())
    expect(service.tokens).toHaveLength(2)
  })

  it('is checked on every attempt: a retry after its end gets a new one', async () => {
    const clock = new QuickClock()
    await using service = await aService({
      token: inTurn(tokenOf('first', 60), tokenOf('second', 60)),
      report: inTurn(status(503, '', { 'retry-after': '55' }), json([])),
    })
    await using client = aClient(service, { clock })
    await client.read(aRequest())
    expect(service.reports.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second'])
  })
})

describe('a 401 of a report', () => {
  it('gets one new token and one more try', async () => {
    await using service = await aService({ report: onlyWith('marked-token-2') })
    await using client = aClient(service)
    expect((await client.read(aRequest())).value).toEqual([])
    expect(service.tokens).toHaveLength(2)
    expect(service.reports).toHaveLength(2)
    expect(client.events).toContainEqual({ kind: 'token refused', report: 'events' })
  })

  it('of ten parallel reads causes one refresh', async () => {
    await using service = await aService({
      report: slowly(onlyWith('marked-token-2')),
      token: slowly(inTurn(tokenOf('marked-token-1'), tokenOf('marked-token-2'))),
    })
    await using client = aClient(service, { settings: { concurrency: 10 } })
    await tenTimes(() => client.read(aRequest()))
    expect(service.tokens).toHaveLength(2)
  })

  it('that arrives late, about the token before, leaves the newer one alone', async () => {
    await using service = await aService({
      report: async (response, call, number) => {
        if (number === 2) await sleep(100)
        return onlyWith('marked-token-2')(response, call, number)
      },
    })
    await using client = aClient(service)
    await client.token()
    await Promise.all([client.read(aRequest()), client.read(aRequest())])
    expect(service.reports).toHaveLength(4)
    expect(service.tokens).toHaveLength(2)
  })

  it('with the new token as well means that the scope is missing, which is said and never asked again', async () => {
    await using service = await aService({ report: status(401) })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest({ scope: 'event.read' })))
    expect(error).toMatchObject({ code: 'SCOPE_MISSING', report: 'events', data: { scope: 'event.read' } })
    expect(error.cure).toContain('event.read')
    expect(error.cure).toContain('tidemark resume events')
    expect((await failureOf(client.read(aRequest()))).code).toBe('SCOPE_MISSING')
    expect(service.reports).toHaveLength(2)
    expect(service.tokens).toHaveLength(2)
  })

  it('that stays, met by ten parallel reads, still costs only one refresh', async () => {
    await using service = await aService({ report: slowly(status(401)), token: slowly(tokenOf('t')) })
    await using client = aClient(service, { settings: { concurrency: 10 } })
    const errors = await tenTimes(() => failureOf(client.read(aRequest())))
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['SCOPE_MISSING']))
    expect(service.tokens).toHaveLength(2)
  })

  it('stops its own report only', async () => {
    await using service = await aService({
      report: (response, call, number) =>
        (call.path.includes('Budget') ? status(401) : json([]))(response, call, number),
    })
    await using client = aClient(service)
    await failureOf(client.read(aRequest({ report: 'budgets', path: '/v1/BudgetReport/GetBudgetsReport' })))
    expect((await client.read(aRequest())).value).toEqual([])
  })

  it('is forgiven, with a new token, once an operator resumes the report', async () => {
    await using service = await aService({ report: onlyWith('marked-token-3') })
    await using client = aClient(service)
    expect((await failureOf(client.read(aRequest()))).code).toBe('SCOPE_MISSING')
    await client.resume('events')
    expect((await client.read(aRequest())).value).toEqual([])
  })
})

describe('a 403 of a report', () => {
  it('is said once and never asked again, until an operator resumes', async () => {
    await using service = await aService({ report: inTurn(status(403), json([])) })
    await using client = aClient(service)
    const error = await failureOf(client.read(aRequest()))
    expect(error).toMatchObject({ code: 'REPORT_FORBIDDEN', report: 'events' })
    expect(error.cure).toContain('tidemark resume events')
    expect((await failureOf(client.read(aRequest()))).code).toBe('REPORT_FORBIDDEN')
    expect(service.reports).toHaveLength(1)
    await client.resume('events')
    expect((await client.read(aRequest())).value).toEqual([])
  })

  it('stops nothing else where it speaks of one request alone', async () => {
    await using service = await aService({ report: inTurn(status(403), json([])) })
    await using client = aClient(service)
    const request = aRequest({ report: 'enquiry_audit_entries', forbids: 'request' })
    expect((await failureOf(client.read(request))).code).toBe('REPORT_FORBIDDEN')
    expect((await client.read(request)).value).toEqual([])
  })
})

describe('a shared token store', () => {
  class SharedStore implements TokenStore {
    kept: StoredToken | undefined
    #turn: Promise<unknown> = Promise.resolve()

    async read() {
      return this.kept
    }

    async write(token: StoredToken) {
      this.kept = token
    }

    async drop(accessToken: Secret) {
      if (this.kept?.accessToken.reveal() === accessToken.reveal()) this.kept = undefined
    }

    #isRefused = false

    async hasRefusal() {
      return this.#isRefused
    }

    async storeRefusal() {
      this.#isRefused = true
    }

    async deleteRefusal() {
      this.#isRefused = false
    }

    async withLock<T>(refresh: () => Promise<T>): Promise<T> {
      const mine = this.#turn.then(refresh)
      this.#turn = mine.catch(() => undefined)
      return await mine
    }
  }

  it('lets two clients use one token, asked for once', async () => {
    const tokenStore = new SharedStore()
    await using service = await aService({ token: slowly(tokenOf('shared')) })
    await using one = aClient(service, { tokenStore })
    await using other = aClient(service, { tokenStore })
    await Promise.all([one.read(aRequest()), other.read(aRequest())])
    expect(service.tokens).toHaveLength(1)
  })

  it('is read before anybody waits for a turn: a token that another client brought is used at once', async () => {
    const tokenStore = new SharedStore()
    await using service = await aService()
    await using one = aClient(service, { tokenStore })
    await using other = aClient(service, { tokenStore })
    await one.token()
    const never = Promise.withResolvers<never>()
    tokenStore.withLock = () => never.promise
    await other.token()
    expect(service.tokens).toHaveLength(1)
  })

  it('tells every client that the credentials are wrong, until an operator resumes one', async () => {
    const tokenStore = new SharedStore()
    await using service = await aService({ token: inTurn(status(401), tokenOf('good')) })
    await using one = aClient(service, { tokenStore })
    await using other = aClient(service, { tokenStore })
    expect((await failureOf(one.token())).code).toBe('CREDENTIALS_REFUSED')
    expect((await failureOf(other.token())).code).toBe('CREDENTIALS_REFUSED')
    expect(service.tokens).toHaveLength(1)
    await other.resume()
    await other.read(aRequest())
    await one.read(aRequest())
    expect(service.tokens).toHaveLength(2)
  })

  it('is asked for no second time with wrong credentials where the news of them can not be shared', async () => {
    const tokenStore = new SharedStore()
    tokenStore.storeRefusal = () => Promise.reject(new SyncError('QUEUE_UNREACHABLE', 'it is away', { cure: 'Wait.' }))
    await using service = await aService({ token: status(401) })
    await using client = aClient(service, { tokenStore })
    for (let times = 1; times <= 2; times += 1)
      expect((await failureOf(client.read(aRequest()))).code).toBe('CREDENTIALS_REFUSED')
    expect(service.tokens).toHaveLength(1)
  })

  it('does not take the dead token of another client for a missing scope', async () => {
    const tokenStore = new SharedStore()
    await using service = await aService({ report: onlyWith('marked-token-3') })
    await using one = aClient(service, { tokenStore })
    await using other = aClient(service, { tokenStore })
    await one.token()
    tokenStore.kept = undefined
    await other.token()
    expect((await one.read(aRequest())).value).toEqual([])
    expect(service.tokens).toHaveLength(3)
  })
})
