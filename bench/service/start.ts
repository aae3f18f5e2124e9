/** Starts the bench's service, which ends with its parent process. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Flavour } from './baseRows.ts'

const PROGRAM = fileURLToPath(new URL('program.ts', import.meta.url))

export interface Service extends AsyncDisposable {
  readonly url: string
  readonly pid: number
  /** Changes rows all over the report, and returns their keys. */
  change(rows: number): Promise<number[]>
  /** Lets the service return no rows until it is called with false. */
  empty(isEmpty: boolean): Promise<void>
  counters(): Promise<{ readonly requests: number; readonly bytes: number }>
}

/** Starts the service, which waits `latencyMs` before each response. */
export async function startService(flavour: Flavour, rows: number, latencyMs = 0): Promise<Service> {
  const child = fork(PROGRAM, [flavour, String(rows), '0', String(latencyMs)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const url = `http://127.0.0.1:${port}`
  const post = async <T>(path: string, body: unknown): Promise<T> =>
    (await (await fetch(url + path, { method: 'POST', body: JSON.stringify(body) })).json()) as T
  return {
    url,
    pid: child.pid ?? 0,
    change: async (count) => (await post<{ keys: number[] }>('/change', { rows: count })).keys,
    empty: (isEmpty) => post('/empty', { isEmpty }),
    counters: () => post('/counters', {}),
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}
