/**
 * A console that cannot listen says so with a code and a cure. A worker that was asked for it by name ends; one with
 * all roles works on, and takes the port once it is free.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aWorld } from '../cli/support.ts'
import { hasSaid, OWNS, stop, until } from '../jobs/support.ts'
import { type RedisServer, startRedis } from '../support/redisServer.ts'

let redis: RedisServer
/** The embedded queue takes twice as long to start. */
let queue: string
beforeAll(async () => {
  redis = await startRedis()
  queue = redis.url
})
afterAll(() => redis.stop())

it.each([
  [
    'a port that is taken',
    '127.0.0.1',
    1,
    /another program listens[^]*CONSOLE_PORT_TAKEN[^]*--roles pull,load,schedule/,
  ],
  [
    'an address of another machine',
    '192.0.2.1',
    2,
    /can't listen at http:\/\/192\.0\.2\.1[^]*CONFIG_INVALID[^]*console\.host/,
  ],
])('%s', { timeout: 300_000 }, async (_, host, exit, says) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const env = { TIDEMARK_CONSOLE_PORT: String(port), TIDEMARK_CONSOLE_TOKEN: '0123456789abcdef' }
  await using world = await aWorld({ settings: { queue, console: { host } }, env })
  const { code, stderr } = await world.run('worker', '--roles', 'load,schedule,console')
  server.close()
  expect(code).toBe(exit)
  expect(stderr).toMatch(says)
})

it('a token that was made is printed once, on standard error, and is in no line of the log', {
  tags: 'long',
  timeout: 300_000,
}, async () => {
  await using world = await aWorld({ settings: { queue } })
  const running = world.start(['worker', '--roles', 'console'], { isTied: true })
  while (!running.said().includes('the console listens')) await new Promise((resolve) => void setTimeout(resolve, 50))
  await new Promise((resolve) => void setTimeout(resolve, 200))
  running.kill('SIGTERM')
  const { code, stdout, stderr } = await running.ended
  expect(code).toBe(0)
  const [, token = ''] = /its token for this start is ([\w-]{32})\n/.exec(stderr) ?? []
  expect(token).not.toBe('')
  expect(stderr.split(token)).toHaveLength(2)
  expect(stdout).not.toContain(token)
})

it('a worker with all roles goes on where the port is taken, and takes it when it is free', {
  tags: 'long',
  timeout: 300_000,
}, async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await using world = await aWorld({ settings: { queue }, env: { TIDEMARK_CONSOLE_PORT: String(port) } })
  const running = world.start(['worker'], { isTied: true })
  await until(() => hasSaid(running, 'continues without a console') && hasSaid(running, OWNS))
  server.close()
  await until(() => hasSaid(running, `the console listens at http://127.0.0.1:${port}`))
  expect(await stop(running)).toMatchObject({ code: 0 })
})
