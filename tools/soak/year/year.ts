/**
 * A year in an hour: an owner runs thousands of ticks, and its clock passes 53 minutes in each. Everything that could
 * grow is measured.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Sandbox, startSandbox, WORLD_REPORTS, type WorldReport } from '../../../src/sandbox/server.ts'
import { forwardClock } from '../../../test/support/forwardClock.ts'
import type { Sample, TickResult, TickOrder } from './orders.ts'

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))
const YEAR_MS = 365 * 24 * 3_600_000
/** One tick every 53 minutes. */
export const YEAR_TICKS = 10_000
export const PASS_MS = Math.round(YEAR_MS / YEAR_TICKS)
/** In each week, all reports are reconciled and one is backfilled. */
const WEEK_TICKS = 192
const EDITS_A_TICK = 3
/** Restored rows keep the number of rows the same. */
const RESTORED_AFTER_TICKS = 20
/** Ticks from one publication to the next. */
const TIDIED_EVERY = 20
const ROWS = 60

export interface YearOptions {
  readonly ticks: number
  /** Ticks from one sample to the next. */
  readonly sampleEvery: number
  readonly historyDays: number
  readonly onSample: (row: YearRow) => void
}

export interface YearRow {
  readonly tick: number
  readonly sample: Sample
}

export interface YearResult {
  readonly rows: readonly YearRow[]
  /** Warnings and errors in the log, with their number. */
  readonly failures: ReadonlyMap<string, number>
}

export async function soakYear({ ticks, sampleEvery, historyDays, onSample }: YearOptions): Promise<YearResult> {
  const clock = forwardClock()
  await using sandbox = await startSandbox({ rows: ROWS, seed: 7, clock, strictParameters: true })
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-year-'))
  await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify(settingsFor(sandbox.url, historyDays)))
  const worker = await startWorker(folder)
  const rows: YearRow[] = []
  const failures = new Map<string, number>()
  const deleted: Deletion[] = []
  try {
    for (let tick = 1; tick <= ticks; tick += 1) {
      clock.pass(PASS_MS)
      changeRows(sandbox, { tick, deleted })
      const done = await worker.tick(orderFor(tick, tick % sampleEvery === 0))
      for (const failure of done.failures) failures.set(failure, (failures.get(failure) ?? 0) + 1)
      if (done.sample === undefined) continue
      const row = { tick, sample: done.sample }
      rows.push(row)
      onSample(row)
    }
  } finally {
    await worker.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return { rows, failures }
}

/** Audit reports are off, because their tables grow with each edit. */
const settingsFor = (url: string, historyDays: number) => ({
  service: { base_url: url, client_id: 'demo' },
  warehouse: './warehouse.duckdb',
  published: './published.duckdb',
  currencies: ['EUR'],
  history: `${historyDays}d`,
  limits: { warehouse_threads: 1 },
  reports: {
    ...Object.fromEntries(
      WORLD_REPORTS.map((report) => [report, { expand: report === 'events' ? ['meetingRooms'] : [] }]),
    ),
    audit_entries: { enabled: false },
    enquiry_audit_entries: { enabled: false },
  },
})

/** The reports run in turn, one in each tick. */
function orderFor(tick: number, isSampled: boolean): TickOrder {
  const incremental = [WORLD_REPORTS[tick % WORLD_REPORTS.length] as WorldReport]
  const ofWeek = tick % WEEK_TICKS
  const reconcile = WORLD_REPORTS.filter((_, place) => ofWeek === place * 10 + 10)
  const week = Math.floor(tick / WEEK_TICKS)
  const backfill = ofWeek === WEEK_TICKS / 2 ? WORLD_REPORTS[week % WORLD_REPORTS.length] : undefined
  const isTidied = tick % TIDIED_EVERY === 0
  return { passMs: PASS_MS, incremental, reconcile, backfill, isTidied, isSampled }
}

interface Deletion {
  readonly report: WorldReport
  readonly key: number
  readonly tick: number
}

/** Edits rows of different reports, deletes one, and restores one that was deleted earlier. */
function changeRows({ world }: Sandbox, { tick, deleted }: { tick: number; deleted: Deletion[] }): void {
  const report = WORLD_REPORTS[tick % WORLD_REPORTS.length] as WorldReport
  const keys = world.liveKeys(report)
  const key = (place: number) => keys[(tick * 31 + place * 7) % keys.length] as number
  for (let edit = 0; edit < EDITS_A_TICK; edit += 1) world.edit(report, key(edit))
  const events = world.liveKeys('events')
  world.edit('events', events[(tick * 13) % events.length] as number)
  deleted.push({ report, key: key(EDITS_A_TICK), tick })
  world.softDelete(report, key(EDITS_A_TICK))
  const [oldest] = deleted
  if (oldest === undefined || oldest.tick > tick - RESTORED_AFTER_TICKS) return
  world.undelete(oldest.report, oldest.key)
  deleted.shift()
}

interface Worker {
  tick(order: TickOrder): Promise<TickResult>
  stop(): Promise<void>
}

async function startWorker(folder: string): Promise<Worker> {
  const child = fork(WORKER, [folder], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // The options with which the launcher starts a worker.
    execArgv: ['--max-semi-space-size=8'],
    env: {
      MALLOC_ARENA_MAX: '2',
      MALLOC_MMAP_THRESHOLD_: '262144',
      ...process.env,
      UV_THREADPOOL_SIZE: '16',
      REPORTING_CLIENT_SECRET: 'demo-secret',
    },
  })
  const exit = once(child, 'exit').then(([code]) => {
    throw new TypeError(`the measured process ended with ${String(code)}`)
  })
  exit.catch(() => undefined)
  const message = async <T>(): Promise<T> => {
    const stopped = new AbortController()
    try {
      const [received] = (await Promise.race([once(child, 'message', { signal: stopped.signal }), exit])) as [T]
      return received
    } finally {
      stopped.abort()
    }
  }
  await message()
  return {
    tick: async (order) => {
      const done = message<TickResult>()
      child.send(order)
      return await done
    },
    stop: async () => {
      if (!child.connected) return
      child.disconnect()
      await exit.catch(() => undefined)
    },
  }
}
