/**
 * The live server of a worker (`serve`): it runs while the worker owns the warehouse, and shows each copy as soon as it
 * is published. What goes wrong with showing one is told and no more: readers go on with the copy before.
 */
import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { asSyncError } from '../errors.ts'
import type { GuardedLog, Log } from '../log.ts'
import { Secret } from '../secret.ts'
import { LiveServer } from '../warehouse/publish/liveServer.ts'

const TOKEN_BYTES = 24

/** The token that readers need; one that is made here is printed, once. Undefined: nothing is served. */
export function serveToken(
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

export interface Serving extends AsyncDisposable {
  readonly onPublished: () => Promise<void>
}

/** Errors: EXTENSION_MISSING, SERVE_FAILED. */
export async function startServing(
  config: Config,
  { token, log }: { token: Secret | undefined; log: Log },
): Promise<Serving | undefined> {
  const { serve, extensions, published, limits } = config
  if (serve === undefined || token === undefined) return undefined
  const { queryMemory: memory, warehouseThreads: threads } = limits
  const server = await LiveServer.start({ ...serve, token, extensions, published, memory, threads })
  log.info({ address: `quack:${serve.host}:${serve.port}` }, 'the published copy is served')
  return {
    onPublished: () =>
      server.show().catch((error: unknown) => {
        log.error({ err: asSyncError(error) }, 'the new copy could not be served; readers go on with the one before')
      }),
    [Symbol.asyncDispose]: () => server.close(),
  }
}
