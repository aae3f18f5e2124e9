/**
 * The live server of a worker (setting `serve`). While the worker owns the warehouse, it serves each new published copy
 * at once. If a new copy cannot be served, the error is logged and readers keep the previous copy.
 */
import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { asSyncError } from '../errors.ts'
import type { GuardedLog, Log } from '../log.ts'
import { Secret } from '../secret.ts'
import { LiveServer } from '../warehouse/publish/liveServer.ts'

const TOKEN_BYTES = 24

/** Returns the token for readers; undefined without a live server. Generates and prints a token if none is set. */
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

export interface LiveServing extends AsyncDisposable {
  /** Serves the new copy. Must be called after each publication. */
  readonly onPublished: () => Promise<void>
}

/** Starts the live server. Returns undefined if none is configured. Throws EXTENSION_MISSING and SERVE_FAILED. */
export async function startServing(
  config: Config,
  { token, log }: { token: Secret | undefined; log: Log },
): Promise<LiveServing | undefined> {
  const { serve, extensions, published, limits } = config
  if (serve === undefined || token === undefined) return undefined
  const { queryMemory: memory, warehouseThreads: threads } = limits
  const server = await LiveServer.start({ ...serve, token, extensions, published, memory, threads })
  log.info({ address: `quack:${serve.host}:${serve.port}` }, 'the published copy is served')
  return {
    onPublished: () =>
      server.show().catch((error: unknown) => {
        log.error({ err: asSyncError(error) }, 'the new copy could not be served; readers keep the previous copy')
      }),
    [Symbol.asyncDispose]: () => server.close(),
  }
}
