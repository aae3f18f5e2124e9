/** The bounds of the values that a soak of a year measures. */
import { LOGS_BYTES_MAX } from '../../../src/runLogs.ts'
import type { YearRow } from './year.ts'

interface Bound {
  /** Matches the names of the measured values. */
  readonly of: RegExp
  /** The reason why the value does not grow. */
  readonly because: string
  /** Set if the code limits the value. */
  readonly max?: number
  /** The largest value of the last quarter, as a multiple of the largest value before. */
  readonly growthMax?: number
}

const MIB = 2 ** 20
const HOURS_A_DAY = 24

const boundsFor = (historyDays: number): readonly Bound[] => [
  {
    of: /^(warehouse|published) bytes$/,
    because: 'DuckDB writes into blocks that earlier checkpoints have freed; a publication follows the file',
    growthMax: 1.1,
  },
  { of: /^rss bytes$/, because: '`warehouse_memory` limits DuckDB, V8 and PGlite have fixed pools', growthMax: 1.15 },
  { of: /^heap bytes$/, because: 'maps of the process have a limit, such as `RUNS_COUNTED_MAX`', growthMax: 1.1 },
  {
    of: /^queue bytes$/,
    because: '`max_wal_size` (64 MB) limits the write-ahead log, and VACUUM every 30 minutes the tables',
    growthMax: 1.1,
    max: 128 * MIB,
  },
  { of: /^queue jobs$/, because: '`JOBS_KEPT_MS`: ended jobs are kept for an hour, failed ones for 7 days', max: 200 },
  { of: /^run log files$/, because: 'the setting `history`; one file an hour', max: (historyDays + 1) * HOURS_A_DAY },
  {
    of: /^run log bytes$/,
    because: '`LOGS_BYTES_MAX`, and the setting `history`',
    max: LOGS_BYTES_MAX,
    growthMax: 1.05,
  },
  { of: /^staging entries$/, because: 'each load and each backfill removes its own files', max: 0 },
  { of: /^files beside the warehouse$/, because: 'temporary files are renamed or removed', max: 12 },
  { of: /^open handles$/, because: 'everything that is opened is closed', growthMax: 1.1 },
  { of: /^rows of reports$/, because: 'the service inserts no rows in this soak', growthMax: 1.05 },
  {
    of: /^tidemark\.(runs|windows|loads)$/,
    because: 'the setting `history`: older runs are removed, older windows joined, and loads that no row names removed',
    growthMax: 1.05,
  },
  {
    of: /^tidemark\.(reconciles|backfills|backfill_windows)$/,
    because: 'the setting `history`: those that have ended are removed',
    growthMax: 1.5,
  },
  { of: /^tidemark\./, because: 'one row per report, scope, column or key', growthMax: 1.05 },
]

/** In a small value, a small growth would be a large share. */
const SMALL = 20

/** Returns one line for each broken bound. */
export function brokenBounds(rows: readonly YearRow[], historyDays: number): string[] {
  const bounds = boundsFor(historyDays)
  const names = Object.keys(rows[0]?.sample ?? {})
  return names.flatMap((name) => {
    const bound = bounds.find(({ of }) => of.test(name))
    if (bound === undefined) return [`${name} has no bound`]
    const values = rows.map(({ sample }) => sample[name] ?? 0)
    const quarter = Math.floor(values.length / 4)
    const before = Math.max(...values.slice(quarter, 3 * quarter))
    const last = Math.max(...values.slice(3 * quarter))
    const isOver = bound.max !== undefined && Math.max(...values) > bound.max
    const hasGrown = bound.growthMax !== undefined && last - before > SMALL && last > before * bound.growthMax
    return [
      ...(isOver ? [`${name}: ${Math.max(...values)} is more than ${bound.max}`] : []),
      ...(hasGrown ? [`${name} grew from ${before} to ${last} in the last quarter`] : []),
    ]
  })
}
