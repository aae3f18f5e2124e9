/** What the worker says of itself: fresher than any file, since nobody else can read the warehouse while it runs. */
import type { Config } from '../../config/config.ts'
import { formatInstant, type Instant } from '../../instant.ts'
import { counted, table } from '../layout.ts'
import type { Shell } from '../shell.ts'
import type { Standing } from '../standing.ts'
import { findWorker } from './remote.ts'

export interface WorkerStatus {
  readonly standings: readonly Standing[]
  readonly running: readonly RunningRun[]
  readonly waiting: readonly { readonly id: string; readonly report: string }[]
  readonly queues: Readonly<Record<string, QueueDepth>>
  /** Where the console of that worker listens. */
  readonly console?: string
}

interface RunningRun {
  readonly runId: string
  readonly report: string
  readonly kind: string
  readonly startedAt: Instant
  readonly progress?: { readonly pages: number; readonly rows: number }
}

interface QueueDepth {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
}

/** A long load may keep the books busy; then the published copy has to do. */
const STATUS_MS_MAX = 5_000

/** Undefined where no worker runs, or it does not answer in time. */
export async function askWorker(shell: Shell, config: Config): Promise<WorkerStatus | undefined> {
  const worker = await findWorker(shell, config)
  if (worker === undefined) return undefined
  const inTime = Promise.withResolvers<undefined>()
  const callOff = shell.clock.after(STATUS_MS_MAX, () => inTime.resolve(undefined))
  try {
    const asked = worker.ask<WorkerStatus>({ do: 'status' }).catch(() => undefined)
    return await Promise.race([asked, inTime.promise])
  } finally {
    callOff()
    await worker[Symbol.asyncDispose]()
  }
}

/** What runs, what waits, and what each queue holds; the schedulers' next ticks are no work that waits. */
export function depthText({ running, queues, console }: WorkerStatus): string {
  const runs = running.map(
    ({ runId, report, kind, startedAt, progress }) =>
      `${report}: ${kind} ${runId} since ${formatInstant(startedAt).slice(0, 19)}Z, ${counted(progress?.pages ?? 0, 'page')}, ${counted(progress?.rows ?? 0, 'row')}\n`,
  )
  const rows = Object.entries(queues)
    .filter(([name]) => name !== 'ticks' && name !== 'control')
    .map(([name, { waiting, active, delayed, failed }]) => [name, ...[waiting, active, delayed, failed].map(String)])
  const heads = ['waiting', 'running', 'delayed', 'failed'].map((head) => ({ head, align: 'right' as const }))
  const runsText = runs.length === 0 ? '' : `${runs.join('')}\n`
  const consoleText = console === undefined ? '' : `\nconsole: ${console}\n`
  return `${runsText}${table([{ head: 'queue' }, ...heads], rows)}${consoleText}`
}
