/** Metrics as a scraper sees them: text from a real HTTP server, taken apart by the rules of the format. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Scraped {
  readonly contentType: string
  readonly text: string
  /** Names with HELP and TYPE. */
  readonly types: ReadonlyMap<string, string>
  /** The value of the sample with at least these labels; undefined when there is none. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number | undefined
}

/** Serves `text` once and reads it over HTTP. */
export async function scraped(text: () => Promise<{ contentType: string; body: string }>): Promise<Scraped> {
  const server = createServer((_, response) => {
    void text().then(({ contentType, body }) => response.setHeader('content-type', contentType).end(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)
    return parsed(response.headers.get('content-type') ?? '', await response.text())
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

function parsed(contentType: string, text: string): Scraped {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  const samples = [...text.matchAll(/^([a-z_]+)(?:\{([^}]*)\})? (\S+)$/gm)].map(([, name, labels = '', value]) => ({
    name,
    labels: new Map([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, told]) => [label, told])),
    value: Number(value),
  }))
  return {
    contentType,
    text,
    types,
    value: (name, labels = {}) =>
      samples.find(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([label, told]) => sample.labels.get(label) === told),
      )?.value,
  }
}
