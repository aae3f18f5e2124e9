/** Measures everything that could grow in the process of an owner. */
import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { QUEUES } from '../../../jobs/queue/queues.ts'
import type { JobQueues } from '../../../jobs/queue/jobQueues.ts'
import type { Config } from '../../../src/config/config.ts'
import { runLogsOf } from '../../../src/runLogs.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import type { Sample } from './orders.ts'

export interface OwnerAccess {
  readonly config: Config
  readonly warehouse: Warehouse
  readonly queues: JobQueues
}

export async function sampleOf({ config, warehouse, queues }: OwnerAccess): Promise<Sample> {
  collectGarbage()
  const { rss, heapUsed } = process.memoryUsage()
  const logs = await filesBelow(runLogsOf(config.warehouse))
  const queue = await filesBelow(`${config.warehouse}.queue`)
  return {
    'warehouse bytes': await bytesOf(config.warehouse),
    'published bytes': await bytesOf(config.published),
    'rss bytes': rss,
    'heap bytes': heapUsed,
    'queue bytes': queue.bytes,
    'queue jobs': await jobsIn(queues),
    'run log files': logs.files,
    'run log bytes': logs.bytes,
    'staging entries': (await filesBelow(config.staging)).files,
    'files beside the warehouse': (await readdir(dirname(config.warehouse))).length,
    'open handles': (await readdir('/proc/self/fd')).length,
    ...(await rowsOf(warehouse)),
  }
}

/** The heap then contains only objects that are still used. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}

const bytesOf = async (file: string): Promise<number> => (await stat(file).catch(() => ({ size: 0 }))).size

async function filesBelow(folder: string): Promise<{ files: number; bytes: number }> {
  const names = await readdir(folder, { recursive: true }).catch((): string[] => [])
  const all = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)))
  const files = all.filter((each) => each?.isFile() === true)
  return { files: files.length, bytes: files.reduce((sum, file) => sum + (file?.size ?? 0), 0) }
}

/** Counts jobs in all states, with those that have ended. */
async function jobsIn(queues: JobQueues): Promise<number> {
  const counts = await Promise.all(QUEUES.map((name) => queues.queue(name).getJobCounts()))
  return counts.flatMap((each) => Object.values(each)).reduce((sum, count) => sum + count, 0)
}

async function rowsOf(warehouse: Warehouse): Promise<Sample> {
  const tables = await warehouse.rows<{ place: string; name: string }>(
    `SELECT schema_name AS place, table_name AS name FROM duckdb_tables()
     WHERE schema_name IN ('tidemark', 'main') AND NOT temporary AND NOT internal ORDER BY ALL`,
  )
  const counted = tables.map(
    ({ place, name }) => `SELECT '${place}' AS place, '${name}' AS name, count(*) AS n FROM ${place}."${name}"`,
  )
  const rows = await warehouse.rows<{ name: string; n: number }>(
    `SELECT if(place = 'main', 'rows of reports', 'tidemark.' || name) AS name, sum(n)::INTEGER AS n
     FROM (${counted.join(' UNION ALL ')}) GROUP BY 1 ORDER BY 1`,
  )
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]))
}
