/**
 * A collector of traces: takes OTLP over HTTP as JSON and keeps the spans. An exporter sends a batch again if it gets no
 * answer, so the collector keeps each span once, by its identifier.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
  readonly service: string
}

export interface Collector extends AsyncDisposable {
  readonly url: string
  readonly spans: readonly Span[]
  /** Everything that was sent, as it was sent. */
  readonly received: readonly string[]
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { key: string; value: { stringValue?: string } }[] }
    readonly scopeSpans: readonly { readonly spans: readonly Omit<Span, 'service'>[] }[]
  }[]
}

export interface CollectorOptions {
  /** The number of requests whose connection is closed in place of an answer. */
  readonly lostAnswers?: number
}

export async function aCollector({ lostAnswers = 0 }: CollectorOptions = {}): Promise<Collector> {
  const spans: Span[] = []
  const received: string[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    received.push(`${request.url ?? ''} ${JSON.stringify(request.headers)} ${body}`)
    const known = new Set(spans.map(({ spanId }) => spanId))
    if (request.url === '/v1/traces')
      spans.push(...spansOf(JSON.parse(body) as Sent).filter(({ spanId }) => !known.has(spanId)))
    if (received.length <= lostAnswers) {
      request.socket.destroy()
      return
    }
    response.setHeader('content-type', 'application/json').end('{}')
  }
  const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const spansOf = ({ resourceSpans }: Sent): Span[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? ''
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service })))
  })

/** The spans from the root of its trace down to this one. */
export function lineage(spans: readonly Span[], span: Span): readonly Span[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
  return parent === undefined ? [span] : [...lineage(spans, parent), span]
}
