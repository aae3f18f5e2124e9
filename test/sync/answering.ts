/** A service that answers every question with the text that a test gives, and a Tidemark that asks it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { forwardClock } from '../support/forwardClock.ts'
import { aTide, type Tide, type TideOptions } from '../support/tide.ts'

export interface Asked {
  readonly path: string
  /** As it was sent, digit by digit. */
  readonly sent: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface AnsweredTide extends Tide {
  readonly asked: Asked[]
}

const MICROS_PER_MS = 1_000
const TOKEN = JSON.stringify({ accessToken: 'token', tokenType: 'Bearer', expiresIn: 3_600 })

export const envelope = (...items: readonly string[]): string =>
  `{"items":[${items.join(',')}],"pageNumber":1,"pageSize":500,"totalCount":${items.length}}`

/** What `answer` gives: the text, or the status of a refusal. `settings`: keys of tidemark.yaml beside `service`. */
export async function aTideAnsweredBy(
  answer: (asked: Asked) => string | number,
  settings: NonNullable<TideOptions['settings']> = {},
): Promise<AnsweredTide> {
  const asked: Asked[] = []
  const clock = forwardClock()
  const server = createServer((request, response) => {
    const send = (status: number, body: string) =>
      response
        .writeHead(status, {
          'content-type': 'application/json',
          date: new Date(clock.now() / MICROS_PER_MS).toUTCString(),
        })
        .end(body)
    void text(request).then((sent) => {
      if (request.url?.endsWith('/RequestToken') === true) return send(200, TOKEN)
      const question = { path: request.url ?? '', sent, body: JSON.parse(sent) as Asked['body'] }
      asked.push(question)
      const given = answer(question)
      return typeof given === 'string' ? send(200, given) : send(given, '{"errors":{"enquiryId":["is not known"]}}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service = {
    base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    client_id: 'demo',
  }
  const tide = await aTide({ clock, settings: { service, ...settings } })
  return Object.assign(tide, {
    asked,
    [Symbol.asyncDispose]: closing(tide, () => {
      server.closeAllConnections()
      server.close()
    }),
  })
}

function closing(tide: Tide, close: () => void): () => Promise<void> {
  const closeTide = tide[Symbol.asyncDispose].bind(tide)
  return async () => {
    await closeTide()
    close()
  }
}
