/** A receiver of notices: a real HTTP server that answers as a test wants and keeps each request. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { ChangedReport } from '../../src/warehouse/books/newData.ts'

interface Message {
  readonly id: string
  readonly event: string
  readonly state?: string
  readonly report: string
  readonly data?: Omit<ChangedReport, 'report'>
}

export interface Posted {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly notice: Message
}

export interface Receiver extends AsyncDisposable {
  readonly url: string
  /** Every request, whatever was answered. */
  readonly posted: readonly Posted[]
  /** What was taken with 200, as `event state report`. */
  taken(): readonly string[]
  /** What messages about new data contained that were taken with 200. */
  data(): readonly ChangedReport[]
  /** From now on; a status, or never an answer. */
  answer(status: number | 'never', headers?: Readonly<Record<string, string>>): void
}

/** The secret of a receiver, in the form of the Standard Webhooks specification. */
export const SIGNING_SECRET = `whsec_${Buffer.from('marked-notices-secret-of-tests!!').toString('base64')}`

export async function aReceiver(): Promise<Receiver> {
  const posted: (Posted & { status: number | 'never' })[] = []
  let answer: { status: number | 'never'; headers: Readonly<Record<string, string>> } = { status: 200, headers: {} }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    const { status, headers } = answer
    const { headers: sent } = request
    const json: unknown = JSON.parse(body)
    posted.push({ headers: sent, body, notice: json as Message, status })
    if (status !== 'never') response.writeHead(status, headers).end()
  }
  const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=marked-key`,
    posted,
    taken: () =>
      posted
        .filter(({ status }) => status === 200)
        .map(({ notice: { event, state, report } }) => `${event} ${state} ${report}`),
    data: () =>
      posted
        .filter(({ status }) => status === 200)
        .map(({ notice: { report, data } }) => ({ report, ...data }) as ChangedReport),
    answer: (status, headers = {}) => {
      answer = { status, headers }
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
