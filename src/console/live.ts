/** Sends the active runs to open pages as server-sent events. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import type { ConsoleBackend } from './backend.ts'
import { toRunningRun } from './outcomes.ts'

const POLL_EVERY_MS = 400
/** After this time without news, a stream sends a comment. Otherwise proxies would close the connection. */
const KEEP_ALIVE_MS = 15_000
const STREAMS_MAX = 50

export interface LiveOptions {
  readonly clock: Clock
  readonly backendOf: () => ConsoleBackend
  readonly mayWatch: (request: FastifyRequest) => boolean
}

export function addLiveRoute(app: FastifyInstance, { clock, backendOf, mayWatch }: LiveOptions): void {
  const streams = new Set<(state: string) => void>()
  let cancelTimer: (() => void) | undefined
  const stateNow = () => {
    const backend = backendOf()
    return JSON.stringify({ begun: backend.begun(), running: backend.running().map(toRunningRun) })
  }
  const poll = () => {
    const state = stateNow()
    for (const update of streams) update(state)
    cancelTimer = streams.size > 0 ? clock.after(POLL_EVERY_MS, poll) : undefined
  }
  app.addHook('preClose', async () => cancelTimer?.())
  app.get('/api/live', (request, reply) => {
    if (streams.size >= STREAMS_MAX) {
      const cure = 'Close some of them.'
      throw new SyncError('CONSOLE_LIMITED', `${STREAMS_MAX} pages already watch live progress`, { cure })
    }
    reply.hijack()
    const { raw } = reply
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
    raw.writeHead(200, headers as Record<string, string>)
    let sent = stateNow()
    let sentMs = clock.monotonicMs()
    raw.write(`retry: 2000\ndata: ${sent}\n\n`)
    const update = (state: string) => {
      const nowMs = clock.monotonicMs()
      if (state === sent && nowMs - sentMs <= KEEP_ALIVE_MS) return
      if (!mayWatch(request)) raw.end()
      // States are not sent to a client whose buffer is full, because unread states would use up memory.
      if (raw.writableEnded || raw.writableNeedDrain) return
      raw.write(state === sent ? ': still here\n\n' : `data: ${state}\n\n`)
      sent = state
      sentMs = nowMs
    }
    streams.add(update)
    for (const end of ['close', 'error']) raw.on(end, () => streams.delete(update))
    cancelTimer ??= clock.after(POLL_EVERY_MS, poll)
  })
}
