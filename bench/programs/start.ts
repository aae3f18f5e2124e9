/** Starts a program of the bench in a separate process. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Done, Order } from './tide.ts'

const TIDE = fileURLToPath(new URL('tide.ts', import.meta.url))

export interface Tide extends AsyncDisposable {
  readonly folder: string
  /** Throws if the program has failed. */
  order(order: Order): Promise<Done>
}

export interface TideSettings {
  readonly url: string
  readonly expand?: readonly string[]
  readonly limits?: Readonly<Record<string, unknown>>
  readonly pageSize?: number
  readonly overlap?: string
  readonly settle?: string
  readonly currencies?: readonly string[]
  readonly execArgv?: readonly string[]
  /** An existing folder, which the caller removes. */
  readonly folder?: string
}

export async function startTide(settings: TideSettings): Promise<Tide> {
  const folder = settings.folder ?? (await mkdtemp(join(tmpdir(), 'tidemark-bench-')))
  const yaml = {
    service: { base_url: settings.url, client_id: 'demo' },
    warehouse: './warehouse.duckdb',
    currencies: settings.currencies ?? [],
    defaults: {
      page_size: settings.pageSize ?? 1_000,
      ...(settings.overlap === undefined ? {} : { overlap: settings.overlap }),
      ...(settings.settle === undefined ? {} : { settle: settings.settle }),
    },
    reports: settings.expand === undefined ? {} : { events: { expand: settings.expand } },
    ...(settings.limits === undefined ? {} : { limits: settings.limits }),
  }
  const child = fork(TIDE, [folder, JSON.stringify(yaml)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // The same option as in bin/tidemark.js.
    execArgv: ['--max-semi-space-size=8', ...(settings.execArgv ?? [])],
    env: { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '262144', ...process.env, UV_THREADPOOL_SIZE: '16' },
  })
  await messageOf(child)
  return {
    folder,
    order: async (order) => {
      const answer = messageOf<Done>(child)
      child.send(order)
      const done = await answer
      if (done.error !== undefined) throw new TypeError(done.error)
      return done
    },
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
      if (settings.folder === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

async function messageOf<T>(child: ChildProcess): Promise<T> {
  const gone = new AbortController()
  const exit = once(child, 'exit', { signal: gone.signal }).then(([code]) => {
    throw new TypeError(`a bench program ended with ${String(code)}`)
  })
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal: gone.signal }), exit])) as [T]
    return message
  } finally {
    gone.abort()
    exit.catch(() => undefined)
  }
}
