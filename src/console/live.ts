/** Sends the active runs to open pages as server-sent events. Checks every 400 ms whether they have changed. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import type { ConsoleBackend } from './backend.ts'
import { toRunningRun } from './outcomes.ts'

const POLL_EVERY_MS = 400
/** A stream without events gets a comment after this time. Otherwise a proxy would close the stream. */
const KEEP_ALIVE_MS = 15_000
const STREAMS_MAX = 50

export interface LiveOptions {
  readonly clock: Clock
  readonly backendOf: () => ConsoleBackend
  readonly mayWatch: (request: FastifyRequest) => boolean
}

interface Stream {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  sent: string
  sentMs: number
}

export class Live {
  readonly #parts: LiveOptions
  readonly #streams = new Set<Stream>()
  #cancelTimer: (() => void) | undefined

  constructor(parts: LiveOptions) {
    this.#parts = parts
  }

  /** Sends events until the client disconnects. Throws CONSOLE_LIMITED if too many streams are open. */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    if (this.#streams.size >= STREAMS_MAX) {
      throw new SyncError('CONSOLE_LIMITED', `${STREAMS_MAX} pages already watch live progress`, {
        cure: 'Close some of them.',
      })
    }
    reply.hijack()
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
    reply.raw.writeHead(200, headers as Record<string, string>)
    const sent = this.#now()
    const stream: Stream = { request, reply, sent, sentMs: this.#parts.clock.monotonicMs() }
    this.#streams.add(stream)
    reply.raw.on('close', () => this.#streams.delete(stream))
    reply.raw.on('error', () => this.#streams.delete(stream))
    reply.raw.write(`retry: 2000\ndata: ${sent}\n\n`)
    this.#cancelTimer ??= this.#parts.clock.after(POLL_EVERY_MS, () => this.#poll())
  }

  close(): void {
    this.#cancelTimer?.()
    for (const { reply } of this.#streams) reply.raw.end()
    this.#streams.clear()
  }

  #poll(): void {
    this.#cancelTimer = undefined
    const now = this.#now()
    const nowMs = this.#parts.clock.monotonicMs()
    for (const stream of this.#streams) {
      if (now !== stream.sent) {
        if (this.#send(stream, `data: ${now}\n\n`)) stream.sent = now
      } else if (nowMs - stream.sentMs > KEEP_ALIVE_MS) this.#send(stream, ': still here\n\n')
    }
    if (this.#streams.size > 0) this.#cancelTimer = this.#parts.clock.after(POLL_EVERY_MS, () => this.#poll())
  }

  #send(stream: Stream, text: string): boolean {
    if (!this.#parts.mayWatch(stream.request)) {
      stream.reply.raw.end()
      this.#streams.delete(stream)
      return false
    }
    // A slow client receives nothing while its buffer is full. Afterwards it receives the newest state.
    if (stream.reply.raw.writableNeedDrain) return false
    stream.sentMs = this.#parts.clock.monotonicMs()
    stream.reply.raw.write(text)
    return true
  }

  #now(): string {
    const backend = this.#parts.backendOf()
    return JSON.stringify({ begun: backend.begun(), running: backend.running().map(toRunningRun) })
  }
}
