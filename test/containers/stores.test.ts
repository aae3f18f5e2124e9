/**
 * Jobs, the shared token and pauses on a Redis as deployments have it: in a container, with AOF and without eviction.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import { startContainer } from '../support/redis.ts'

describe('a Redis in a container', () => {
  let redis: Awaited<ReturnType<typeof startContainer>>
  const open = () => openStore(redis.url, { directory: '', clock: systemClock, leaseMs: 1_000 })

  beforeAll(async () => {
    redis = await startContainer([
      'redis-server',
      '--protected-mode',
      'no',
      '--appendonly',
      'yes',
      '--maxmemory-policy',
      'noeviction',
    ])
  })
  afterAll(() => redis.stop())

  it('is fit, and carries jobs from one process to another', async () => {
    await using one = await open()
    await using other = await open()
    expect((await one.check()).map(({ state }) => state)).not.toContain('failed')
    const done = Promise.withResolvers<number>()
    other.worker<{ number: number }, void>('jobs', async ({ data }) => done.resolve(data.number))
    await one.queue<{ number: number }>('jobs').add('number', { number: 7 })
    expect(await done.promise).toBe(7)
  })

  it('keeps one token and every pause for all who open it', async () => {
    await using one = await open()
    await using other = await open()
    const access = { identity: 'acme', secret: new Secret('client-secret') }
    const token = { accessToken: new Secret('token'), lifetimeMs: 60_000, remainingMs: 60_000, scopes: undefined }
    await one.tokens(access).write(token)
    expect((await other.tokens(access).read())?.accessToken.reveal()).toBe('token')
    await one.pauses(access).pause(30_000)
    expect(await other.pauses(access).remainingMs()).toBeGreaterThan(0)
  })
})
