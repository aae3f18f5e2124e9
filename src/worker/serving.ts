/** Runs the live server that the setting `serve` turns on. */
import { randomBytes } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { asSyncError, SyncError } from '../errors.ts'
import type { GuardedLog, Log } from '../log.ts'
import type { LiveServerSettings } from '../reader/liveServer.ts'
import { ReaderProcess } from '../reader/readerProcess.ts'
import { Secret } from '../secret.ts'

const TOKEN_BYTES = 24
const CHECK_EVERY_MS = 1_000
const RESTART_MS = 2_000
/** The threads that DuckDB's extension `quack` starts. Each one needs memory for its stack. */
const SERVER_THREADS = 130
const ANSWER_MS_MAX = 60_000

export function openServeToken(
  { serve }: Config,
  { err, log }: { err: { write(text: string): void }; log: GuardedLog },
): Secret | undefined {
  if (serve === undefined) return undefined
  if (serve.token !== undefined) {
    log.guard(serve.token)
    return serve.token
  }
  const token = new Secret(randomBytes(TOKEN_BYTES).toString('hex'))
  err.write(`token for readers at quack:${serve.host}:${serve.port}: ${token.reveal()}\n`)
  log.guard(token)
  return token
}

/** Starts the live server. Returns undefined if none is configured. Throws EXTENSION_MISSING or SERVE_FAILED. */
export async function startServing(config: Config, { token, log }: { token: Secret | undefined; log: Log }) {
  const { serve, extensions, published, limits } = config
  if (serve === undefined || token === undefined) return undefined
  const { queryMemory: memory, queryDisk: disk, queryTimeMs: timeMs, warehouseThreads: threads } = limits
  const settings = { ...serve, token: token.reveal(), extensions, published, memory, disk, threads }
  const serving = await serveForEver(settings, { timeMs, log })
  log.info({ address: `quack:${serve.host}:${serve.port}` }, 'the published copy is served')
  return serving
}

/** Starts the process of the live server, and restarts it each time it ends. */
export async function serveForEver(
  settings: LiveServerSettings,
  { timeMs, log }: { readonly timeMs: number; readonly log: Pick<Log, 'error'> },
) {
  const closing = new AbortController()
  let server = await startServer(settings)
  const supervise = async (): Promise<never> => {
    for (;;) {
      const reason = await watch(server, timeMs, closing.signal)
      log.error({ err: reason }, 'the live server has ended and is started again; its readers must attach again')
      await clock.sleep(RESTART_MS, closing.signal)
      server = await startServer(settings).catch((error: unknown) => {
        log.error({ err: asSyncError(error) }, 'the live server could not be started again')
        return server
      })
    }
  }
  const supervising = supervise().catch(() => undefined)
  return {
    onPublished: async () => {
      await server.ask({ do: 'show' }, { limitMs: ANSWER_MS_MAX }).catch((error: unknown) => {
        log.error({ err: asSyncError(error) }, 'the new copy could not be served; readers keep the previous copy')
      })
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort()
      await supervising
      await server.kill(stopped())
    },
  }
}

async function startServer(settings: LiveServerSettings): Promise<ReaderProcess> {
  const place = await realpath(settings.published).catch(() => settings.published)
  const server = await ReaderProcess.start(place, { memory: settings.memory, moreThreads: SERVER_THREADS })
  try {
    await server.ask({ do: 'serve', settings }, { limitMs: ANSWER_MS_MAX })
    return server
  } catch (error) {
    await server.kill(stopped())
    throw error
  }
}

/** Returns when the server has ended. Kills the server if a reader's statement takes longer than `timeMs`. */
async function watch(server: ReaderProcess, timeMs: number, signal: AbortSignal): Promise<SyncError> {
  for (;;) {
    // Polls `isAlive`: a `Promise.race` with `ended` at each check would add handlers, which would use up memory.
    await clock.sleep(CHECK_EVERY_MS, signal)
    if (!server.isAlive) return server.ended
    const ms = await server.ask({ do: 'oldestStatementMs' }, { limitMs: ANSWER_MS_MAX, signal }).catch(asSyncError)
    if (typeof ms === 'number' && ms > timeMs) await server.kill(tooLong(timeMs))
  }
}

const stopped = (): SyncError => new SyncError('CANCELLED', 'the worker stops', { cure: 'Start it again.' })

const tooLong = (timeMs: number): SyncError =>
  new SyncError('QUERY_FAILED', `a reader's statement took longer than ${timeMs / 1_000} s`, {
    cure: 'Read less at once, or raise limits.query_time.',
  })
