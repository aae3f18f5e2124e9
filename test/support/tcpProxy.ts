/** A proxy on loopback, whose bytes a test can stop as a network partition does. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** No byte passes, but connections stay open. */
  partition(): void
  /** Packets to and from this port are lost. Requires `mayLosePackets`. */
  losePackets(): void
  /** Waiting bytes pass again. */
  heal(): void
}

const RULES = ['--dport', '--sport']
const filter = (how: '-I' | '-D', side: string, port: number): void => {
  execFileSync('iptables', ['-w', how, 'INPUT', '-i', 'lo', '-p', 'tcp', side, `${port}`, '-j', 'DROP'], {
    stdio: 'pipe',
  })
}

/** Returns true for root on a machine with iptables. */
export function mayLosePackets(): boolean {
  try {
    execFileSync('iptables', ['-w', '-S', 'INPUT'], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

export async function startProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let isParted = false
  let rules: readonly string[] = []
  const server = createServer({ pauseOnConnect: true }, (near) => {
    const far = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => void to.write(bytes))
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      if (isParted) from.pause()
      else from.resume()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const keepPackets = () => {
    for (const side of rules) filter('-D', side, port)
    rules = []
  }
  return {
    port,
    losePackets: () => {
      if (rules.length > 0) return
      for (const side of RULES) filter('-I', side, port)
      rules = RULES
    },
    partition: () => {
      isParted = true
      for (const socket of sockets) socket.pause()
    },
    heal: () => {
      keepPackets()
      isParted = false
      for (const socket of sockets) socket.resume()
    },
    [Symbol.asyncDispose]: async () => {
      keepPackets()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
