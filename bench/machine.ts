/** Describes the machine of a measurement. The load average shows whether other programs were running. */
import { cpus, loadavg, totalmem } from 'node:os'
import { version } from '@duckdb/node-api'

export function machineText(): string {
  const [cpu] = cpus()
  const load = loadavg().map((each) => each.toFixed(1))
  return [
    `${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `Node ${process.versions.node}, DuckDB ${version()}`,
    `load average ${load.join(' / ')}`,
  ].join(' · ')
}
