/**
 * Live progress as server-sent events: whoever looks is sent what runs, whenever it has changed, a few times a second.
 * The runs are looked at rather than listened to, so that a slow browser costs nothing and a fast run no more than one
 * event.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import type { Errands } from './errands.ts'
import type { ConsoleBackend } from './backend.ts'
import { runningOf } from './running.ts'

const LOOK_EVERY_MS = 400
/** A proxy cuts what is silent for a minute; a session that has ended is noticed here too. */
const SIGN_EVERY_MS = 15_000
const STREAMS_MAX = 50

export interface LiveParts {
  readonly clock: Clock
  readonly backendOf: () => ConsoleBackend
  readonly errands: Errands
  /** The one who asked may still look. */
  readonly mayLook: (request: FastifyRequest) => boolean
}

interface Stream {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** What it was sent last, and when anything was. */
  sent: string
  sentMs: number
}

export class Live {
  readonly #parts: LiveParts
  readonly #streams = new Set<Stream>()
  #callOff: (() => void) | undefined

  constructor(parts: LiveParts) {
    this.#parts = parts
  }

  /** Sends until the other side goes away. Error: CONSOLE_LIMITED. */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    if (this.#streams.size >= STREAMS_MAX) {
      throw new SyncError('CONSOLE_LIMITED', `${STREAMS_MAX} pages look at live progress already`, {
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
    this.#callOff ??= this.#parts.clock.after(LOOK_EVERY_MS, () => this.#look())
  }

  close(): void {
    this.#callOff?.()
    for (const { reply } of this.#streams) reply.raw.end()
    this.#streams.clear()
  }

  #look(): void {
    this.#callOff = undefined
    const now = this.#now()
    const nowMs = this.#parts.clock.monotonicMs()
    for (const stream of this.#streams) {
      if (now !== stream.sent) {
        if (this.#send(stream, `data: ${now}\n\n`)) stream.sent = now
      } else if (nowMs - stream.sentMs > SIGN_EVERY_MS) this.#send(stream, ': still here\n\n')
    }
    if (this.#streams.size > 0) this.#callOff = this.#parts.clock.after(LOOK_EVERY_MS, () => this.#look())
  }

  /** False: it was not sent. */
  #send(stream: Stream, text: string): boolean {
    if (!this.#parts.mayLook(stream.request)) {
      stream.reply.raw.end()
      this.#streams.delete(stream)
      return false
    }
    // A slow reader is sent what is so once it has taken what it has; all between is outdated by then.
    if (stream.reply.raw.writableNeedDrain) return false
    stream.sentMs = this.#parts.clock.monotonicMs()
    stream.reply.raw.write(text)
    return true
  }

  #now(): string {
    const { backendOf, errands } = this.#parts
    const backend = backendOf()
    const open = errands.all.map(({ id, state, outcomes }) => ({ id, state, outcomes: outcomes.length }))
    return JSON.stringify({ begun: backend.begun(), running: backend.running().map(runningOf), errands: open })
  }
}
