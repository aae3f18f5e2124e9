/** Programs that tests start: found on the PATH, and tied to the life of the test run even when that is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'

/** The path of a program, on the PATH or in one of these folders. */
export function programOnPath(name: string, alsoIn: readonly string[] = []): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...alsoIn]
  return folders.map((folder) => join(folder, name)).find(canRun)
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface Started {
  readonly child: ChildProcess
  /** What it wrote, for the message when it does not start. */
  readonly output: () => string
  stop(signal?: NodeJS.Signals): Promise<void>
}

export interface Tied {
  /** What it gets when the test run dies without stopping it. */
  readonly dyingSignal?: 'TERM' | 'QUIT' | 'KILL'
  /** Run as this user; only root can. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
}

/** Starts a program that the kernel ends with us, where there is `setpriv` to ask it. */
export function startTied(command: readonly string[], { dyingSignal = 'TERM', user }: Tied = {}): Started {
  const setpriv = programOnPath('setpriv')
  const as = user === undefined ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  const tie = setpriv === undefined ? [] : [setpriv, ...as, '--pdeathsig', dyingSignal]
  const [program = '', ...values] = [...tie, ...command]
  const child = spawn(program, values, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, LC_ALL: 'C' } })
  let output = ''
  const note = (piece: Buffer) => {
    output = (output + piece.toString()).slice(-4_000)
  }
  child.stdout.on('data', note)
  child.stderr.on('data', note)
  child.on('error', (error) => note(Buffer.from(error.message)))
  return {
    child,
    output: () => output,
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      child.kill(signal)
      await exit
    },
  }
}

/** A port that nothing listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
