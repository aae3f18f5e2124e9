/** Two installations on one Redis, each with a database of its own, as the documents ask for. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
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

it('two databases of one server: a store counts only the workers of its own database', async () => {
  await using theirs = await openDatabase(1)
  await using ours = await openDatabase(2)
  await theirs.worker('control', async () => undefined).waitUntilReady()
  await until(async () => (await theirs.workersOf('control')) === 1)
  expect(await ours.workersOf('control')).toBe(0)
  await ours.worker('control', async () => undefined).waitUntilReady()
  await until(async () => (await ours.workersOf('control')) === 1)
  expect(await theirs.workersOf('control')).toBe(1)
})

it('a database number that the server does not have is refused, and database 0 is not used instead', async () => {
  await expect(openDatabase(9_999)).rejects.toMatchObject({
    code: 'QUEUE_UNFIT',
    message: expect.stringContaining('database 9999'),
  })
})

it('if the connection is lost while the database number is checked, the error is QUEUE_UNREACHABLE', async () => {
  const { hostname, port } = new URL(inject('redisUrl'))
  const sockets: Socket[] = []
  let selects = 0
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname)
    sockets.push(client, server)
    for (const socket of [client, server]) socket.on('error', () => socket.destroy())
    client.on('data', (chunk) => {
      selects += /select/i.test(chunk.toString()) ? 1 : 0
      // The first one belongs to the handshake of ioredis.
      if (selects === 2) {
        proxy.close()
        for (const socket of sockets) socket.destroy()
      } else server.write(chunk)
    })
    server.pipe(client)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const url = `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}/3`
  const opened = openStore(url, { directory: '', clock: systemClock, prefix })
  await expect(opened).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' })
  expect(selects).toBe(2)
})
