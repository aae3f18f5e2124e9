/** Starts workers of a lake as processes, and measures their processor time and memory. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { LAUNCHER, processTree } from '../suites/worker.ts'

/** The kernel counts in hundredths of a second. */
const TICKS_A_SECOND = 100

/** A line of the log about a run that has ended. */
export interface RunLine {
  readonly report: string
  readonly kind: string
  readonly state: string
  readonly pages: number
  readonly rows: number
  readonly ms: number
}

export interface LakeWorker extends AsyncDisposable {
  readonly pid: number
  readonly runs: RunLine[]
  /** Error codes of failed runs. */
  readonly failures: string[]
  /** Resolves as soon as the worker can run reports. */
  readonly ready: Promise<void>
}

/** Starts a worker. Disposing it sends SIGTERM and waits for its end. */
export function startLakeWorker(folder: string, env: NodeJS.ProcessEnv): LakeWorker {
  const child: ChildProcess = spawn(process.execPath, ['--max-semi-space-size=8', LAUNCHER, 'worker'], {
    cwd: folder,
    env: { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '262144', ...env, TIDEMARK_CONSOLE_PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const runs: RunLine[] = []
  const failures: string[] = []
  const ready = Promise.withResolvers<void>()
  child.once('exit', (code) => ready.reject(new TypeError(`a worker has ended with ${code}`)))
  ready.promise.catch(() => undefined)
  if (child.stderr !== null)
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (!line.startsWith('{')) return
      const entry = JSON.parse(line) as RunLine & { readonly msg: string; readonly code?: string }
      if (entry.msg === 'this process owns the warehouse') ready.resolve()
      if (entry.state === 'done') runs.push(entry)
      if (entry.state === 'failed') failures.push(`${entry.report}: ${entry.code ?? ''}`)
    })
  return {
    pid: child.pid ?? 0,
    runs,
    failures,
    ready: ready.promise,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Returns the processor seconds of a process and its descendants. */
export async function treeSeconds(pid: number): Promise<number> {
  const stats = await Promise.all((await processTree(pid)).map(statOf))
  return (
    stats.reduce((sum, fields) => sum + [11, 12, 13, 14].reduce((own, n) => own + Number(fields[n] ?? 0), 0), 0) /
    TICKS_A_SECOND
  )
}

export const parentOf = async (pid: number): Promise<number> => Number((await statOf(pid))[1])

/** Returns the fields after the name. Field 11 is the user time. */
async function statOf(pid: number): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** Returns the peak resident memory of a process in MB. */
export async function peakMb(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1_024
}
