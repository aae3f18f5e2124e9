/** The network between a lake and its object storage: it can be slow, cut, or answer by itself. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface StorageWire extends AsyncDisposable {
  readonly endpoint: string
  /** Each piece of an answer waits this long. */
  delayMs: number
  /** While true, connections are closed and refused. */
  isCut: boolean
  /** While true, connections stay open, but all bytes are lost. */
  isSilent: boolean
  /** A request for which it returns an answer does not reach the storage. */
  answerTo: ((line: string) => string | undefined) | undefined
  /** Called with the first line of each request. */
  onRequest: ((line: string) => void) | undefined
}

export async function aWire(port: number): Promise<StorageWire> {
  const sockets = new Set<Socket>()
  const server = createServer((inner) => {
    if (wire.isCut) {
      inner.destroy()
      return
    }
    const outer = connect(port, '127.0.0.1')
    let passed: Promise<unknown> = Promise.resolve()
    for (const socket of [inner, outer]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.once('close', () => sockets.delete(socket))
    }
    inner.once('close', () => outer.destroy())
    // The storage may close at once, while its answer still waits here.
    outer.once('close', () => void passed.then(() => inner.end()))
    inner.on('data', (piece: Buffer) => {
      if (wire.isSilent) return
      const line = /^[A-Z]+ \S+ HTTP/.exec(piece.toString('latin1', 0, 2_000))?.[0]
      if (line !== undefined) wire.onRequest?.(line)
      const answer = line && wire.answerTo?.(line)
      if (wire.isCut) inner.destroy()
      else if (answer === undefined) outer.write(piece)
      else inner.end(answer)
    })
    outer.on('data', (piece: Buffer) => {
      if (wire.isSilent) return
      const pause = wire.delayMs === 0 ? Promise.resolve() : sleep(wire.delayMs)
      passed = passed.then(() => pause).then(() => inner.destroyed || inner.write(piece))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const wire: StorageWire = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    delayMs: 0,
    isCut: false,
    isSilent: false,
    answerTo: undefined,
    onRequest: undefined,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return wire
}

/** Returns the answer of a storage that refuses a request. */
export function refusal(status: string, code: string, message: string): string {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`
  return `HTTP/1.1 ${status}\r\nContent-Type: application/xml\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
}
