/** Measures the processor time of an idle worker, with all its processes and the embedded queue. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSandbox } from '../../src/sandbox/server.ts'
import { formatted, type Line, type Suite } from '../measure.ts'
import { LAUNCHER, processTree } from './worker.ts'

const ROWS = 200
/** After this time, the first runs are over and V8's compilers are idle. */
const SETTLED_AFTER_MS = 120_000
const MEASURED_MS = 120_000
const GOAL_PERCENT = 2
/** Linux counts processor time in ticks of ten milliseconds. */
const TICK_MS = 10

/** Returns the processor time of a process and its descendants, in milliseconds. */
async function processorMs(pid: number): Promise<number> {
  const pids = await processTree(pid)
  const texts = await Promise.all(pids.map((each) => readFile(`/proc/${each}/stat`, 'utf8').catch(() => '')))
  const ticks = texts.map((text) => {
    // Fields 14 to 17 are the times of the process and of its ended children.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  })
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MS
}

async function run(): Promise<Line[]> {
  await using sandbox = await startSandbox({ rows: ROWS })
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-idle-'))
  const settings = {
    service: { base_url: sandbox.url, client_id: 'demo' },
    currencies: ['USD'],
    defaults: { every: '10s' },
    reports: { audit_entries: { entities: [{ entity_id: 3, follows: 'events' }] } },
  }
  await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify(settings))
  const env = { ...process.env, REPORTING_CLIENT_SECRET: 'demo-secret', TIDEMARK_CONSOLE_PORT: '0' }
  const worker = spawn(LAUNCHER, ['worker'], { cwd: folder, env, stdio: 'ignore' })
  await sleep(SETTLED_AFTER_MS)
  const before = await processorMs(worker.pid ?? 0)
  sandbox.requests.clear()
  await sleep(MEASURED_MS)
  const percent = ((await processorMs(worker.pid ?? 0)) - before) / (MEASURED_MS / 100)
  const requests = sandbox.requests.list().length
  const ended = once(worker, 'exit')
  worker.kill('SIGTERM')
  await ended
  await rm(folder, { recursive: true, force: true })
  return [
    {
      what: 'processor time of an idle worker, eight reports every 10 s',
      measured: `${formatted(percent, 1)} % of a core`,
      goal: `≤ ${GOAL_PERCENT} %`,
      isMet: percent <= GOAL_PERCENT,
      detail: `over ${MEASURED_MS / 1_000} s, with ${requests} requests; launcher, worker, children and embedded queue`,
    },
  ]
}

export const idleSuite: Suite = { name: 'idle', about: 'processor time of an idle worker', run }
