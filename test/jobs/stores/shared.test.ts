/** What processes share through a store: one token, sealed, refreshed by one at a time; and every pause. */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { releaseStore, reservedFor, reserveStore } from '../../../jobs/stores/reservation.ts'
import { tokenCipher } from '../../../jobs/stores/tokenCipher.ts'
import type { QueueStore } from '../../../jobs/stores/store.ts'
import type { StoredToken, TokenStore } from '../../../src/client/tokens.ts'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/secret.ts'
import { startSandbox } from '../../../src/sandbox/server.ts'
import { aService, inTurn, issueToken, type Reply } from '../../client/support.ts'
import { type Ground, grounds, LEASE_MS, settingsOf, startProgram, until } from './support.ts'

const { signal } = new AbortController()
const never: Reply = () => undefined
const TOKEN = 'marked-token-of-the-service'

const aToken = (changes: Partial<StoredToken> = {}): StoredToken => ({
  accessToken: new Secret(TOKEN),
  lifetimeMs: 3_600_000,
  remainingMs: 3_000_000,
  scopes: ['event.read'],
  ...changes,
})

describe.each(grounds)('what processes share on $title', ({ lay, kind }) => {
  let ground: Ground
  let store: QueueStore
  let identities = 0

  beforeAll(async () => {
    ground = await lay()
    store = await ground.open()
  })
  afterAll(async () => {
    await store.close()
    await ground[Symbol.asyncDispose]()
  })

  const anAccess = (secret = 'client-secret') => {
    identities += 1
    return { identity: `https://reports.example.com acme ${identities}`, secret: new Secret(secret) }
  }
  const twice = () => {
    const access = anAccess()
    return [store.tokens(access), store.tokens(access)] as [TokenStore, TokenStore]
  }

  it('is a token as it was written, with what is left of its life', async () => {
    const [one, other] = twice()
    expect(await one.read()).toBeUndefined()
    await one.write(aToken())
    const read = await other.read()
    expect(read?.accessToken.reveal()).toBe(TOKEN)
    expect(read).toMatchObject({ lifetimeMs: 3_600_000, scopes: ['event.read'] })
    expect(read?.remainingMs).toBeLessThanOrEqual(3_000_000)
    expect(read?.remainingMs).toBeGreaterThan(2_000_000)
  })

  it('is the warehouse whose worker uses the store, until its reservation ends or is released', async () => {
    const reserve = (warehouse: string, ms = 60_000) => reserveStore(store, `/data/${warehouse}.duckdb ~1~`, ms)
    await reserve('one')
    await reserve('one')
    await expect(reserve('other')).rejects.toMatchObject({
      code: 'QUEUE_UNFIT',
      message: expect.stringContaining('/data/one.duckdb'),
    })
    await releaseStore(store, '/data/one.duckdb ~1~')
    await reserve('other', 50)
    await until(async () => (await reservedFor(store)) === undefined)
    await reserve('one')
    await releaseStore(store, '/data/one.duckdb ~1~')
  })

  it('is no token any more when its life is over', async () => {
    const [one] = twice()
    await one.write(aToken({ remainingMs: 50 }))
    await until(async () => (await one.read()) === undefined)
    await one.write(aToken({ remainingMs: 0 }))
    expect(await one.read()).toBeUndefined()
  })

  it('is no token to who has another secret or another identity', async () => {
    const access = anAccess()
    await store.tokens(access).write(aToken())
    expect(await store.tokens({ ...access, secret: new Secret('changed') }).read()).toBeUndefined()
    const renewed = new Secret('before', async () => access.secret.reveal())
    const other = store.tokens({ ...access, secret: renewed })
    expect(await other.read()).toBeUndefined()
    expect(await renewed.readAgain()).toBe(true)
    expect((await other.read())?.accessToken.reveal()).toBe(TOKEN)
    expect(await store.tokens({ ...access, identity: `${access.identity} more.read` }).read()).toBeUndefined()
    expect(await store.tokens(access).read()).toBeDefined()
  })

  it('forgets a token that was refused, and no newer one', async () => {
    const [one, other] = twice()
    await one.write(aToken())
    await other.drop(new Secret('an older one'))
    expect(await one.read()).toBeDefined()
    await other.drop(new Secret(TOKEN))
    expect(await one.read()).toBeUndefined()
  })

  it('lets one refresh at a time', { tags: 'long' }, async () => {
    const access = anAccess()
    let atOnce = 0
    let atOnceMax = 0
    const refresh = async () => {
      atOnce += 1
      atOnceMax = Math.max(atOnceMax, atOnce)
      await systemClock.sleep(30)
      atOnce -= 1
      return 'token'
    }
    const refreshes = Array.from({ length: 6 }, () => store.tokens(access).withLock(refresh, signal))
    expect(await Promise.all(refreshes)).toEqual(Array(6).fill('token'))
    expect(atOnceMax).toBe(1)
  })

  it('keeps the turn of a refresh that takes longer than its lease', { tags: 'long' }, async () => {
    const [one, other] = twice()
    const order: string[] = []
    const begun = Promise.withResolvers<void>()
    const long = async () => {
      begun.resolve()
      await systemClock.sleep(2_500)
      order.push('long')
    }
    const slow = one.withLock(long, signal)
    await begun.promise
    await other.withLock(async () => void order.push('next'), signal)
    await slow
    expect(order).toEqual(['long', 'next'])
  })

  it('lets the next process refresh when a refresh fails, and when a waiting caller is stopped', async () => {
    const [one, other] = twice()
    await expect(one.withLock(() => Promise.reject(new TypeError('refused')), signal)).rejects.toThrow('refused')
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const holding = one.withLock(() => {
      begun.resolve()
      return gate.promise
    }, signal)
    await begun.promise
    const stop = new AbortController()
    const waiting = other.withLock(async () => 'never', stop.signal)
    stop.abort(new TypeError('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
    gate.resolve()
    await holding
    expect(await other.withLock(async () => 'mine', signal)).toBe('mine')
  })

  it('includes the refusal of the credentials, until an operator acts or the secret changes', async () => {
    const access = anAccess()
    const [one, other] = [store.tokens(access), store.tokens(access)]
    expect(await one.hasRefusal()).toBe(false)
    await one.storeRefusal()
    expect(await other.hasRefusal()).toBe(true)
    expect(await store.tokens({ ...access, secret: new Secret('changed') }).hasRefusal()).toBe(false)
    await other.deleteRefusal()
    expect(await one.hasRefusal()).toBe(false)
  })

  it('is every pause, the longest of them', async () => {
    const { identity } = anAccess()
    const [one, other] = [store.pauses({ identity }), store.pauses({ identity })]
    expect(await one.remainingMs()).toBe(0)
    await one.pause(60_000)
    await other.pause(1_000)
    expect(await other.remainingMs()).toBeGreaterThan(30_000)
    expect(await other.remainingMs()).toBeLessThanOrEqual(60_000)
    expect(await store.pauses(anAccess()).remainingMs()).toBe(0)
  })

  it('is a pause only as long as it lasts', async () => {
    const pauses = store.pauses(anAccess())
    await pauses.pause(40)
    await until(async () => (await pauses.remainingMs()) === 0)
  })

  it('survives ten clients that start together where the service grants three tokens a minute', {
    tags: 'long',
  }, async () => {
    await using sandbox = await startSandbox({ rows: 5, tokenRequestsPerMinute: 3, faults: ['slow@token:200'] })
    // Several processes where the store has room for them.
    const processes = kind === 'embedded' ? 1 : 5
    if (kind === 'embedded') await store.close()
    const settings = { ...settingsOf(ground), SERVICE: sandbox.url, CLIENTS: String(10 / processes) }
    const programs = Array.from({ length: processes }, () => startProgram('readAlone', settings))
    try {
      const lines = await Promise.all(programs.map((program) => linesOf(program, 1 + 10 / processes)))
      expect(lines.flat().toSorted()).toEqual([...Array(processes).fill('asking'), ...Array(10).fill('read')])
    } finally {
      for (const program of programs) await program[Symbol.asyncDispose]()
      if (kind === 'embedded') store = await ground.open()
    }
    expect(tokenRequests(sandbox)).toBe(1)
  })

  it('is not held up by a process that is killed while it asks for a token', { tags: 'long' }, async () => {
    await using service = await aService({ token: inTurn(never, issueToken) })
    if (kind === 'embedded') await store.close()
    const settings = { ...settingsOf(ground), SERVICE: service.url.href, LEASE_MS: String(LEASE_MS) }
    await using killed = startProgram('readAlone', settings)
    await until(() => service.tokens.length === 1)
    await killed.kill('SIGKILL')
    await using next = startProgram('readAlone', settings)
    expect(await linesOf(next, 2)).toEqual(['asking', 'read'])
    await next.exited
    expect(service.tokens).toHaveLength(2)
    if (kind === 'embedded') store = await ground.open()
  })
})

const linesOf = async (program: ReturnType<typeof startProgram>, count: number): Promise<string[]> => {
  const lines: string[] = []
  while (lines.length < count) lines.push(await program.line())
  return lines
}

const tokenRequests = ({ requests }: Awaited<ReturnType<typeof startSandbox>>): number =>
  requests.list().filter(({ path }) => path.includes('RequestToken')).length

describe('a sealed text', () => {
  const texts = fc.string({ unit: 'binary' })

  it('opens with the same secret and identity, and shows nothing of itself', () => {
    fc.assert(
      fc.property(texts, fc.string(), fc.string(), (text, secret, identity) => {
        const access = { identity, secret: new Secret(secret) }
        const sealed = tokenCipher(access).encrypt(text)
        expect(tokenCipher(access).decrypt(sealed)).toBe(text)
        expect(tokenCipher(access).encrypt(text)).not.toBe(sealed)
        expect(sealed).toMatch(/^[\w-]+$/)
      }),
    )
  })

  it('opens with nothing else, however it was changed', () => {
    const access = { identity: 'acme', secret: new Secret('secret') }
    const sealed = tokenCipher(access).encrypt('text')
    expect(tokenCipher({ ...access, secret: new Secret('other') }).decrypt(sealed)).toBeUndefined()
    expect(tokenCipher({ ...access, identity: 'other' }).decrypt(sealed)).toBeUndefined()
    const bytes = Buffer.from(sealed, 'base64url')
    for (let place = 0; place < bytes.length; place += 1) {
      const changed = Buffer.from(bytes)
      changed[place] = (changed[place] ?? 0) ^ 1
      expect(tokenCipher(access).decrypt(changed.toString('base64url'))).toBeUndefined()
    }
    fc.assert(fc.property(fc.string(), (text) => tokenCipher(access).decrypt(text) === undefined))
  })
})
