/**
 * Operations over the owner's local socket, which only the worker's user can open. The request is one JSON document.
 * The response is lines of JSON: events, then the reply.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { ownFileRefused } from '../folders.ts'
import { notUnderstood, OperationEvent, OperationRequest, problemOf, Reply, workerLost } from './contract.ts'
import type { Caller } from './engine.ts'
import type { WorkerOperations } from './workerOperations.ts'

/** Maximum number of bytes in a socket's path. Systems allow 104 (macOS) or 108 (Linux) with the final zero byte. */
const PATH_BYTES_MAX = 103

/** Returns the path of the owner's socket: next to the warehouse or, if that is too long, in the temporary folder. */
export function socketPathOf(warehouse: string): string {
  const beside = `${warehouse}.sock`
  if (Buffer.byteLength(beside) <= PATH_BYTES_MAX) return beside
  const name = createHash('sha256').update(warehouse).digest('hex').slice(0, 20)
  return path.join(tmpdir(), `tidemark-${name}.sock`)
}

type Answerer = Pick<WorkerOperations, 'answer'>

/**
 * Listens until disposed. Replaces an existing socket file: it belongs to a dead process, because the caller has the
 * warehouse's lock. Throws WAREHOUSE_MISSING if that file can't be removed.
 */
export async function listenAt(socketPath: string, operations: Answerer): Promise<AsyncDisposable> {
  await rm(socketPath, { force: true }).catch((error: unknown) => {
    throw ownFileRefused(socketPath, error)
  })
  const server = createServer((request, response) => void serve(operations, request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, resolve)
  })
  await chmod(socketPath, 0o600)
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      // All replies were sent. The connections left belong to callers that do not read their reply.
      server.closeAllConnections()
      await closed
    },
  }
}

async function serve(operations: Answerer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  response.on('error', () => gone.abort())
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
  response.flushHeaders()
  const write = (line: object) => void response.write(`${JSON.stringify(line)}\n`)
  const { success, data } = OperationRequest.safeParse(await json(request).catch(() => undefined))
  const answer: Reply = success
    ? await operations.answer(data, { tell: (event) => write({ event }), signal: gone.signal })
    : { error: problemOf(notUnderstood('the worker does not know this request')) }
  response.end(`${JSON.stringify({ answer })}\n`)
}

/** Returns whether a process listens on the socket. */
export function answersAt(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Milliseconds to wait for the response's headers, which a healthy worker sends at once. */
const HEARD_MS_MAX = 10_000

/** Sends a request and waits for the reply. Throws WORKER_LOST or the signal's reason. */
export async function askSocket(
  { path: socketPath, clock }: { readonly path: string; readonly clock: Clock },
  request: OperationRequest,
  { tell, signal }: Caller,
): Promise<Reply> {
  const sent = httpRequest({ socketPath, method: 'POST', path: '/', agent: false, signal })
  const callOff = clock.after(HEARD_MS_MAX, () => sent.destroy(workerLost('does not answer')))
  try {
    sent.end(JSON.stringify(request))
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    callOff()
    for await (const line of createInterface(response)) {
      const { event, answer } = JSON.parse(line) as { event?: unknown; answer?: unknown }
      if (answer !== undefined) return Reply.parse(answer)
      const known = OperationEvent.safeParse(event)
      if (known.success) tell(known.data)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SyncError) throw error
  } finally {
    callOff()
  }
  signal.throwIfAborted()
  throw workerLost('went away before it was done')
}
