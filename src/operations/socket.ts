/** Sends operations over the owner's local socket. The response is lines of JSON. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { isPrivateFolder, makePrivateFolder, ownFileRefused } from '../folders.ts'
import type { OperationRequest } from './contract.ts'
import { notUnderstood, OperationEvent, problemOf, Reply, SentRequest, workerLost } from './contract.ts'
import type { Caller } from './engine.ts'
import type { WorkerOperations } from './workerOperations.ts'

/** Operating systems limit a socket's path to 104 bytes (macOS) or 108 bytes (Linux), including the final zero byte. */
const PATH_BYTES_MAX = 103

/** Returns the socket's path. It is in the temporary folder if a path next to the warehouse is too long. */
export function socketPathOf(warehouse: string): string {
  const beside = path.join(`${warehouse}.control`, 'socket')
  if (Buffer.byteLength(beside) <= PATH_BYTES_MAX) return beside
  const name = createHash('sha256').update(warehouse).digest('hex').slice(0, 20)
  return path.join(tmpdir(), `tidemark-${name}`, 'socket')
}

/** Makes a folder that only this user can open. Throws WAREHOUSE_MISSING if another user could replace the socket. */
function makeSocketFolder(folder: string): void {
  makePrivateFolder(folder)
  if (isPrivateFolder(folder)) return
  throw new SyncError('WAREHOUSE_MISSING', `${folder} belongs to another user, or is no folder`, {
    cure: 'Look who owns it. After its processes have ended, remove it: the worker needs a folder of its own there.',
    data: { path: folder },
  })
}

type Answerer = Pick<WorkerOperations, 'answer'>

/** Receives operations at the socket until the returned object is disposed. Replaces the socket of a dead process. */
export async function listenAt(socketPath: string, operations: Answerer): Promise<AsyncDisposable> {
  const folder = path.dirname(socketPath)
  makeSocketFolder(folder)
  await rm(socketPath, { force: true }).catch((error: unknown) => {
    throw ownFileRefused(socketPath, error)
  })
  const server = createServer((request, response) => void serve(operations, request, response)).listen(socketPath)
  await once(server, 'listening').catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true })
    throw error
  })
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      // Closes open connections. Otherwise `close` would wait for a caller that does not read its reply.
      server.closeAllConnections()
      await closed
      await rm(folder, { recursive: true, force: true })
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
  const { success, data } = SentRequest.safeParse(await json(request).catch(() => undefined))
  const answer: Reply = success
    ? await operations.answer(data.request, { by: data.by, onEvent: (event) => write({ event }), signal: gone.signal })
    : { error: problemOf(notUnderstood('the worker does not know this request')) }
  response.end(`${JSON.stringify({ answer })}\n`)
}

export async function answersAt(socketPath: string): Promise<boolean> {
  if (!isPrivateFolder(path.dirname(socketPath))) return false
  return new Promise((resolve) => {
    const socket = connect(socketPath, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

const HEADERS_MS_MAX = 10_000

/** Sends a request and waits for the reply. Throws WORKER_LOST or the signal's reason. */
export async function askSocket(
  { path: socketPath, clock }: { readonly path: string; readonly clock: Clock },
  request: OperationRequest,
  { by, onEvent, signal }: Caller,
): Promise<Reply> {
  const sent = httpRequest({ socketPath, method: 'POST', path: '/', agent: false, signal })
  const cancelTimer = clock.after(HEADERS_MS_MAX, () => sent.destroy(workerLost('does not answer')))
  try {
    sent.end(JSON.stringify({ request, by } satisfies SentRequest))
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    cancelTimer()
    for await (const line of createInterface(response)) {
      const { event, answer } = JSON.parse(line) as { event?: unknown; answer?: unknown }
      if (answer !== undefined) return Reply.parse(answer)
      const known = OperationEvent.safeParse(event)
      if (known.success) onEvent(known.data)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SyncError) throw error
  } finally {
    cancelTimer()
  }
  signal.throwIfAborted()
  throw workerLost('went away before it was done')
}
