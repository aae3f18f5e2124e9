/** Two installations on one Redis, each with a database of its own, as the documents ask for. */
import { expect, inject, it } from 'vitest'
import { openStore } from '../../../jobs/stores/openStore.ts'
import { systemClock } from '../../../src/clock.ts'
import { aPrefix, until } from './support.ts'

const prefix = aPrefix()

const openDatabase = (number: number) => {
  const url = new URL(inject('redisUrl'))
  url.pathname = `/${number}`
  return openStore(url.href, { directory: '', clock: systemClock, prefix })
}

it('do not take the workers of the other one for their own', async () => {
  await using theirs = await openDatabase(1)
  await using ours = await openDatabase(2)
  await theirs.worker('control', async () => undefined).waitUntilReady()
  await until(async () => (await theirs.workersOf('control')) === 1)
  expect(await ours.workersOf('control')).toBe(0)
  await ours.worker('control', async () => undefined).waitUntilReady()
  await until(async () => (await ours.workersOf('control')) === 1)
  expect(await theirs.workersOf('control')).toBe(1)
})

it('are not put together in database 0 by a number that the server does not have', async () => {
  await expect(openDatabase(9_999)).rejects.toMatchObject({
    code: 'QUEUE_UNFIT',
    message: expect.stringContaining('database 9999'),
  })
})
