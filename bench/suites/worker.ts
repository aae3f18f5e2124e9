/** Measures the memory of a whole worker on the embedded queue, with all its processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startSandbox } from '../../src/sandbox/server.ts'
import type { Line, Suite } from '../measure.ts'

export const LAUNCHER = fileURLToPath(new URL('../../bin/tidemark.js', import.meta.url))
const ROWS = 500
const SAMPLE_EVERY_MS = 30
/** After this time, all reports are published and V8's compilers are idle. */
const SETTLED_AFTER_MS = 25_000
const PEAK_GOAL_MB = 450
const STEADY_GOAL_MB = 300
const START_GOAL_MS = 3_000

interface Start {
  readonly peakMb: number
  readonly steadyMb: number
  /** Time from the start of the process to the worker's first log line. */
  readonly readyMs: number
}

/** Returns the process and its descendants. */
export async function processTree(pid: number): Promise<number[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  )
  const children = lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number))
  return [pid, ...(await Promise.all(children.map(processTree))).flat()]
}

/** A page that several processes share counts once. */
async function treeMb(pid: number): Promise<number> {
  const pids = await processTree(pid)
  const texts = await Promise.all(pids.map((each) => readFile(`/proc/${each}/smaps_rollup`, 'utf8').catch(() => '')))
  return texts.reduce((sum, text) => sum + Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0), 0) / 1_024
}

async function readyMs(worker: ChildProcess, startedAt: number): Promise<number> {
  if (worker.stdout === null) return Number.NaN
  for await (const line of createInterface({ input: worker.stdout })) {
    if (line.startsWith('queue ')) break
  }
  const ms = performance.now() - startedAt
  worker.stdout.resume()
  return ms
}

async function measureStart(folder: string): Promise<Start> {
  const env = { ...process.env, REPORTING_CLIENT_SECRET: 'demo-secret', TIDEMARK_CONSOLE_PORT: '0' }
  const startedAt = performance.now()
  const worker = spawn(LAUNCHER, ['worker'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  const ready = readyMs(worker, startedAt)
  const { pid = 0 } = worker
  let peakMb = 0
  let steadyMb = 0
  while (performance.now() - startedAt < SETTLED_AFTER_MS) {
    steadyMb = await treeMb(pid)
    peakMb = Math.max(peakMb, steadyMb)
    await delay(SAMPLE_EVERY_MS)
  }
  const ended = once(worker, 'exit')
  worker.kill('SIGTERM')
  await ended
  return { peakMb, steadyMb, readyMs: await ready }
}

function line(what: string, value: number, [goal, unit]: readonly [number, string]): Line {
  return {
    what,
    measured: `${Math.round(value)} ${unit}`,
    goal: `≤ ${goal} ${unit}`,
    isMet: value <= goal,
    detail: 'launcher, worker and children together; shared memory is counted once',
  }
}

async function run(): Promise<Line[]> {
  await using sandbox = await startSandbox({ rows: ROWS })
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-worker-'))
  const settings = { service: { base_url: sandbox.url, client_id: 'demo' }, currencies: ['USD'] }
  await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify(settings))
  const first = await measureStart(folder)
  const later = await measureStart(folder)
  await rm(folder, { recursive: true, force: true })
  return [
    line('peak memory of a first start', first.peakMb, [PEAK_GOAL_MB, 'MB']),
    line('memory after all reports are published', first.steadyMb, [STEADY_GOAL_MB, 'MB']),
    line('peak memory of a later start', later.peakMb, [PEAK_GOAL_MB, 'MB']),
    line('memory later', later.steadyMb, [STEADY_GOAL_MB, 'MB']),
    line('time of a first start until the queue is open', first.readyMs, [START_GOAL_MS, 'ms']),
  ]
}

export const workerSuite: Suite = { name: 'worker', about: 'memory of a worker on the embedded queue', run }
