/** Finds programs on the PATH, and ends them with the test run. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'

/** Returns the path of a program on the PATH or in one of these folders. */
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
  /** Used in the error when the program does not start. */
  readonly output: () => string
  stop(signal?: NodeJS.Signals): Promise<void>
}

export interface Tied {
  /** The program gets this signal if the test run dies. */
  readonly dyingSignal?: 'TERM' | 'QUIT' | 'KILL'
  /** Only root can choose a user. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
}

/** Starts a program. The kernel ends it together with this process, if `setpriv` exists. */
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

/** Returns a port that no program uses now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
