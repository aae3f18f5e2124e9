/** A Redis server on loopback, which ends with the test run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort, programOnPath, type Started, startTied } from './programsOnPath.ts'

const START_MS_MAX = 120_000

export interface RedisServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Connections stay open without responses, as on a machine that swaps. */
  freeze(): void
  /** Example: `CONFIG SET maxmemory 1`. */
  tell(command: string): Promise<void>
  /** Kills the server and starts it again on the same port. */
  restart(): Promise<void>
}

export interface RedisServerOptions {
  readonly server?: string | undefined
  /** Example: `['--maxmemory-policy', 'allkeys-lru']`. */
  readonly settings?: readonly string[]
  readonly password?: string
}

export async function startRedis({ server, settings = [], password }: RedisServerOptions = {}): Promise<RedisServer> {
  const program = server ?? programOnPath('redis-server')
  if (program === undefined) throw new TypeError('no redis-server on the PATH')
  const port = await freePort()
  const command = [
    program,
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    ...settings,
  ]
  if (password !== undefined) command.push('--requirepass', password)
  let started = startTied(command)
  await answers({ port, password }, started)
  const stop = (signal?: NodeJS.Signals) => {
    // A suspended process ignores other signals.
    started.child.kill('SIGCONT')
    return started.stop(signal)
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    stop,
    freeze: () => void started.child.kill('SIGSTOP'),
    tell: (words) => told(port, words),
    restart: async () => {
      await stop()
      started = startTied(command)
      await answers({ port, password }, started)
    },
    [Symbol.asyncDispose]: () => stop(),
  }
}

async function told(port: number, words: string): Promise<void> {
  const operator = new Redis({ port, host: '127.0.0.1' })
  const [command = '', ...rest] = words.split(' ')
  await operator.call(command, ...rest)
  operator.disconnect()
}

/** An earlier process may still answer on the same port. */
async function answers(at: { port: number; password: string | undefined }, { child, output }: Started): Promise<void> {
  const redis = new Redis({
    port: at.port,
    host: '127.0.0.1',
    lazyConnect: true,
    retryStrategy: () => null,
    ...(at.password === undefined ? {} : { password: at.password }),
  })
  redis.on('error', () => undefined)
  for (let waitedMs = 0; waitedMs < START_MS_MAX; waitedMs += 20) {
    if (child.exitCode !== null) break
    try {
      await redis.connect()
      const info = await redis.info('server')
      if (info.includes(`process_id:${child.pid}\r`)) return redis.disconnect()
    } catch {
      // The server is not ready yet.
    }
    redis.disconnect()
    await sleep(20)
  }
  throw new TypeError(`redis-server does not start: ${output()}`)
}
