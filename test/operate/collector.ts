/** A collector of traces: takes OTLP over HTTP as JSON and keeps the spans. */
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

export async function aCollector(): Promise<Collector> {
  const spans: Span[] = []
  const received: string[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    received.push(`${request.url ?? ''} ${JSON.stringify(request.headers)} ${body}`)
    if (request.url === '/v1/traces') spans.push(...spansOf(JSON.parse(body) as Sent))
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
