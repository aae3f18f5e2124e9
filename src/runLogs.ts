/** Stores the log lines of runs for `tidemark logs`, in one file per hour. */
import { appendFileSync, mkdirSync, statSync } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from './clock.ts'
import { attempt } from './errors.ts'
import { formatInstant, type Instant } from './instant.ts'

export const runLogsOf = (warehouse: string): string => `${warehouse}.logs`

export const RUN_LINES_MAX = 1_000
const HOUR_BYTES_MAX = 16 * 1_048_576
export const LOGS_BYTES_MAX = 256 * 1_048_576
const RUNS_COUNTED_MAX = 10_000

export interface RunLine {
  readonly time: string
  readonly level: number
  readonly runId: string
  readonly msg: string
  readonly [field: string]: unknown
}

const FILE = /^\d{4}-\d{2}-\d{2}T\d{2}\.jsonl$/

export type RunLogs = ReturnType<typeof openRunLogs>

export function openRunLogs(directory: string, clock: Clock) {
  const lineCounts = new Map<string, number>()
  let current = { file: '', bytes: 0 }
  let needsTrim = false
  const hasRoom = (runId: string): boolean => {
    const count = (lineCounts.get(runId) ?? 0) + 1
    // Moves this run to the end of the map, because the first entry is dropped.
    lineCounts.delete(runId)
    lineCounts.set(runId, count)
    const [oldest] = lineCounts.keys()
    if (lineCounts.size > RUNS_COUNTED_MAX && oldest !== undefined) lineCounts.delete(oldest)
    return count <= RUN_LINES_MAX
  }
  /** An asynchronous append would need ten times as much processor time. */
  const append = (line: string): void => {
    const file = path.join(directory, `${formatInstant(clock.now()).slice(0, 13)}.jsonl`)
    if (file !== current.file) {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      const known = statSync(file, { throwIfNoEntry: false })
      needsTrim ||= known === undefined
      current = { file, bytes: known?.size ?? 0 }
    }
    if (current.bytes > HOUR_BYTES_MAX) return
    appendFileSync(file, line, { mode: 0o600 })
    current = { file, bytes: current.bytes + Buffer.byteLength(line) }
  }
  return {
    /** Never throws, because a full disk must not end the run. */
    take: (line: string): void => {
      const found = /"runId":"([^"]+)"/.exec(line)?.[1]
      // A substring would keep the whole line in memory, so this is a copy.
      const runId = found && Buffer.from(found).toString()
      if (runId === undefined || !hasRoom(runId)) return
      try {
        append(line)
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'ENOENT') return
        current = { file: '', bytes: 0 }
        attempt(() => append(line), undefined)
      }
    },
    needsTrim: () => needsTrim,
    /** Removes files older than `before`, and the oldest files beyond LOGS_BYTES_MAX. */
    trim: async (before: Instant): Promise<number> => {
      const oldest = `${formatInstant(before).slice(0, 13)}.jsonl`
      let bytes = 0
      let removed = 0
      for (const name of (await filesIn(directory)).toReversed()) {
        const file = path.join(directory, name)
        bytes += (await stat(file).catch(() => ({ size: 0 }))).size
        if (name >= oldest && bytes <= LOGS_BYTES_MAX) continue
        await rm(file, { force: true })
        removed += 1
      }
      return removed
    },
  }
}

async function filesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => [])
  return names.filter((name) => FILE.test(name)).toSorted()
}

/** Returns the lines of the runs whose identifiers begin with `start`. */
export async function linesOfRuns(directory: string, start: string): Promise<RunLine[]> {
  const found: RunLine[] = []
  for (const name of await filesIn(directory)) {
    const text = await readFile(path.join(directory, name), 'utf8').catch(() => '')
    if (!text.includes(start)) continue
    found.push(...parsed(text).filter((line) => line.runId.startsWith(start)))
  }
  return found.slice(0, RUN_LINES_MAX)
}

/** pino's number for `info`. A skipped run logs only below this level. */
const INFO_LEVEL = 30

/** Returns the report's last run. Prefers runs that were not skipped. */
export async function lastRunOf(directory: string, report: string): Promise<string | undefined> {
  let lastRun: string | undefined
  for (const name of (await filesIn(directory)).toReversed()) {
    const text = await readFile(path.join(directory, name), 'utf8').catch(() => '')
    const lines = parsed(text).filter((line) => line['report'] === report)
    const last = lines.findLast(({ level }) => level >= INFO_LEVEL)
    if (last !== undefined) return last.runId
    lastRun ??= lines.at(-1)?.runId
  }
  return lastRun
}

/** Ignores incomplete lines, which a killed process may have left. */
function parsed(text: string): RunLine[] {
  return text.split('\n').flatMap((line) => {
    const value = attempt(() => JSON.parse(line) as RunLine | null, null)
    return typeof value?.runId === 'string' ? [value] : []
  })
}
