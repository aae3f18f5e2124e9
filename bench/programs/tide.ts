/** Runs a whole Tidemark in its own process, so that its peak memory is that of the work alone. */
import { readFileSync, statSync } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReportName } from '../../schema/index.ts'
import { openClient } from '../../src/client/reporting.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/config.ts'
import { identityOf, type SyncContext } from '../../src/sync/context.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { watchTurns } from './ownTurns.ts'

export type Order =
  | { readonly do: 'sync'; readonly reports: readonly ReportName[] }
  | { readonly do: 'publish' }
  | { readonly do: 'rows'; readonly sql: string }
  | { readonly do: 'checkpoint' }

export interface Done {
  readonly ms: number
  /** Processor time does not grow when other programs run. */
  readonly cpuMs: number
  readonly requests: number
  /** Executed statements, with BEGIN and COMMIT. */
  readonly statements: number
  readonly loopDelayMsP99: number
  readonly loopDelayMsMax: number
  /** Own work between two turns of the event loop. */
  readonly ownTurnMsP99: number
  readonly ownTurnMsMax: number
  readonly peakMb: number
  readonly fileMb: number
  /** Bytes written to files, with those of ended children. NaN outside Linux. */
  readonly writtenBytes: number
  readonly rows?: readonly Record<string, unknown>[]
  readonly error?: string
}

const [, , folder = '.', settings = '{}'] = process.argv
await writeFile(join(folder, 'tidemark.yaml'), settings)
const config = await loadConfig({ cwd: folder, env: { REPORTING_CLIENT_SECRET: 'demo-secret' } })
const client = openClient({ ...config.service }, { clock: systemClock })
const statements: { sql: string; ms: number; cpuMs: number }[] = []
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
const writtenBytes = (): number => {
  try {
    return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  } catch {
    return Number.NaN
  }
}
const traced = process.env['BENCH_TRACE'] !== undefined
let executed = 0
const around = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
  executed += 1
  if (!traced) return run()
  const from = performance.now()
  const cpu = cpuMs()
  const result = await run()
  statements.push({ sql, ms: performance.now() - from, cpuMs: cpuMs() - cpu })
  return result
}
const { warehouseMemory: memory, warehouseThreads: threads } = config.limits
const warehouse = await Warehouse.open({
  path: config.warehouse,
  memory,
  threads,
  around,
})
const context: SyncContext = {
  client,
  warehouse,
  clock: systemClock,
  settings: { ...config, ...config.service, identity: identityOf(config.service) },
  onProgress: () => undefined,
  signal: new AbortController().signal,
}
const delay = monitorEventLoopDelay({ resolution: 5 })

async function carryOut(order: Order): Promise<Pick<Done, 'rows'>> {
  if (order.do === 'rows') return { rows: await warehouse.rows(order.sql) }
  if (order.do === 'checkpoint') await warehouse.rows('CHECKPOINT')
  else if (order.do === 'publish') await warehouse.publish(config.published)
  else for (const { error } of await syncAll(context, order.reports)) if (error !== undefined) throw error
  return {}
}

async function obey(order: Order): Promise<Done> {
  delay.reset()
  delay.enable()
  const requests = client.counters.requests
  const executedBefore = executed
  const from = performance.now()
  const cpu = cpuMs()
  const written = writtenBytes()
  const endWatch = watchTurns()
  const done = await carryOut(order).catch((error: unknown) => ({ error: String(error) }))
  const ms = performance.now() - from
  delay.disable()
  const own = endWatch()
  return {
    ms,
    cpuMs: cpuMs() - cpu,
    requests: client.counters.requests - requests,
    statements: executed - executedBefore,
    loopDelayMsP99: delay.percentile(99) / 1e6,
    loopDelayMsMax: delay.max / 1e6,
    ownTurnMsP99: own.p99Ms,
    ownTurnMsMax: own.maxMs,
    peakMb: process.resourceUsage().maxRSS / 1_000,
    fileMb: statSync(config.warehouse).size / 1e6,
    writtenBytes: writtenBytes() - written,
    ...done,
  }
}

/** Prints the slowest statements, which the results do not contain. */
function tellStatements(): void {
  const byText = new Map<string, { times: number; ms: number; cpu: number }>()
  for (const { sql, ms, cpuMs: cpu } of statements.splice(0)) {
    const head = sql.replaceAll(/\s+/g, ' ').trim().slice(0, 60)
    const known = byText.get(head) ?? { times: 0, ms: 0, cpu: 0 }
    byText.set(head, { times: known.times + 1, ms: known.ms + ms, cpu: known.cpu + cpu })
  }
  const lines = [...byText].toSorted(([, a], [, b]) => b.ms - a.ms).slice(0, 40)
  for (const [head, { times, ms, cpu }] of lines)
    process.stderr.write(`${ms.toFixed(0).padStart(7)} ms ${cpu.toFixed(0).padStart(7)} cpu ${times}x ${head}\n`)
}

async function answer(order: Order): Promise<void> {
  const done = await obey(order)
  if (traced) tellStatements()
  process.send?.(done)
}

process.on('message', (order: Order) => {
  void answer(order)
})
process.on('disconnect', () => {
  void client
    .close()
    .then(() => warehouse.close())
    .then(() => process.exit())
})
statements.length = 0
process.send?.('ready')
