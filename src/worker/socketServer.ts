/**
 * The owner's ear on its own machine: a unix socket that only its user can open. A request is one JSON document; the
 * response is lines of JSON, what happens meanwhile and at last the answer.
 */
import { chmod, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Answer, Control } from '../../jobs/control/control.ts'
import { ControlRequest } from '../../jobs/control/controlRequest.ts'
import { SyncError } from '../errors.ts'
import { ownFileRefused } from '../folders.ts'

/**
 * Listens until it is closed. Whoever holds the warehouse's lock is its owner, so a socket that lies there is a dead
 * one's. Error: WAREHOUSE_MISSING where it can't be removed.
 */
export async function listenAt(path: string, control: Pick<Control, 'answer'>): Promise<AsyncDisposable> {
  await rm(path, { force: true }).catch((error: unknown) => {
    throw ownFileRefused(path, error)
  })
  const server = createServer((request, response) => void serve(control, request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  await chmod(path, 0o600)
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      // Those who still wait have been told; what doesn't read its answer is cut off.
      server.closeAllConnections()
      await closed
    },
  }
}

async function serve(control: Pick<Control, 'answer'>, request: IncomingMessage, response: ServerResponse) {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  response.on('error', () => gone.abort())
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
  response.flushHeaders()
  const write = (line: object) => void response.write(`${JSON.stringify(line)}\n`)
  const asked = ControlRequest.safeParse(await json(request).catch(() => undefined))
  const answer: Answer = asked.success
    ? await control.answer(asked.data, { tell: (event) => write({ event }), signal: gone.signal })
    : { error: notUnderstood().toJSON() }
  response.end(`${JSON.stringify({ answer })}\n`)
}

const notUnderstood = (): SyncError =>
  new SyncError('USAGE_INVALID', 'the worker does not know this request', {
    cure: 'Restart the worker: it is of another version than the command.',
  })
