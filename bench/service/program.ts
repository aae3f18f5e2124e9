/** The bench's reporting service. It only sends slices of bytes, so that the measured time is that of the reader. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { baseRows, type Flavour } from './baseRows.ts'
import { EventTable } from './eventTable.ts'

const PAGE_ROWS_MAX = 1_000

const [, , flavour = 'none', rows = '10000', port = '0', latencyMs = '0'] = process.argv
const table = new EventTable(baseRows(flavour as Flavour), Number(rows))
const counters = { requests: 0, rows: 0, bytes: 0 }
let isEmpty = false

interface Asked {
  readonly modifiedSince?: string
  readonly modifiedUntil?: string
  readonly pageNumber?: number
  readonly pageSize?: number
}

function page({ modifiedSince, modifiedUntil, pageNumber = 1, pageSize = 100 }: Asked): Buffer[] {
  const count = Math.min(pageSize, PAGE_ROWS_MAX)
  const sinceMs = modifiedSince === undefined ? Number.NEGATIVE_INFINITY : timeOf(modifiedSince)
  const untilMs = modifiedUntil === undefined ? Number.POSITIVE_INFINITY : timeOf(modifiedUntil)
  counters.requests += 1
  // Pages count from 1, so page 0 is empty.
  const body = table.page({
    sinceMs,
    untilMs,
    start: (pageNumber - 1) * count,
    count: pageNumber < 1 || isEmpty ? 0 : count,
  })
  counters.bytes += bytesOf(body)
  return body
}

/** Digits after the millisecond become a fraction. */
function timeOf(text: string): number {
  const micros = /\.\d{3}(\d{1,4})/.exec(text)?.[1] ?? ''
  return Date.parse(text) + Number(`0.${micros}`)
}

async function answer(request: IncomingMessage): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const asked = pieces.length === 0 ? {} : (JSON.parse(Buffer.concat(pieces).toString('utf8')) as Record<string, never>)
  const path = request.url ?? ''
  if (path.startsWith('/reportingapi/')) return page(asked)
  if (path.startsWith('/authenticationapi/'))
    return json({ accessToken: 'bench', expiresIn: 3_600, tokenType: 'Bearer' })
  if (path === '/change') return json({ keys: table.change(asked['rows'] ?? 1, Date.now()) })
  if (path === '/counters') return json(counters)
  if (path === '/empty') isEmpty = asked['isEmpty'] === true
  return json({})
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await answer(request)
  if (latencyMs !== '0') await sleep(Number(latencyMs))
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytesOf(body) })
  response.cork()
  for (const piece of body) response.write(piece)
  response.end()
}

const bytesOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, { length }) => sum + length, 0)
const json = (value: unknown): Buffer[] => [Buffer.from(JSON.stringify(value))]

const server = createServer({ keepAliveTimeout: 65_000 }, (request: IncomingMessage, response: ServerResponse) => {
  void serve(request, response)
})
server.listen(Number(port), '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit())
