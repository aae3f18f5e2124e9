/** Stores the log lines of runs for `tidemark logs`, in one file per hour. One file per run would be too many files. */
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
/** Line counts are kept for at most this many runs. The count of the run that was silent longest is dropped. */
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
  let current = ''
  let currentBytes = 0
  let beganHour = false
  const hasRoom = (runId: string): boolean => {
    const count = (lineCounts.get(runId) ?? 0) + 1
    // Moves this run to the end of the map. The first run is then the one that logged nothing for the longest time.
    lineCounts.delete(runId)
    lineCounts.set(runId, count)
    const [oldest] = lineCounts.keys()
    if (lineCounts.size > RUNS_COUNTED_MAX && oldest !== undefined) lineCounts.delete(oldest)
    return count <= RUN_LINES_MAX
  }
  /** Appends the line synchronously, because an asynchronous call would need ten times as much processor time. */
  const append = (line: string): void => {
    const file = path.join(directory, `${formatInstant(clock.now()).slice(0, 13)}.jsonl`)
    if (file !== current) {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      const known = statSync(file, { throwIfNoEntry: false })
      beganHour ||= known === undefined
      currentBytes = known?.size ?? 0
      current = file
    }
    if (currentBytes > HOUR_BYTES_MAX) return
    appendFileSync(file, line, { mode: 0o600 })
    currentBytes += Buffer.byteLength(line)
  }
  return {
    /** Stores a log line of a run. Never throws, because a full disk must not end the run. */
    take: (line: string): void => {
      const found = /"runId":"([^"]+)"/.exec(line)?.[1]
      // Copies the text: V8 stores a substring as a reference, so each run would keep a whole log line in memory.
      const runId = found && Buffer.from(found).toString()
      if (runId === undefined || !hasRoom(runId)) return
      try {
        append(line)
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'ENOENT') return
        current = ''
        attempt(() => append(line), undefined)
      }
    },
    /** Returns whether this process has started a new hourly file. If so, the caller should call `trim`. */
    beganHour: () => beganHour,
    /** Removes files older than `before` and the oldest files beyond LOGS_BYTES_MAX. Returns how many it removed. */
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

/** Returns the lines of the runs whose identifiers begin with `start`, earliest first, or [] if they were removed. */
export async function linesOfRuns(directory: string, start: string): Promise<RunLine[]> {
  const found: RunLine[] = []
  for (const name of await filesIn(directory)) {
    const text = await readFile(path.join(directory, name), 'utf8').catch(() => '')
    if (!text.includes(start)) continue
    found.push(...parsed(text).filter((line) => line.runId.startsWith(start)))
  }
  return found.slice(0, RUN_LINES_MAX)
}

/** The number that pino uses for the level `info`. A skipped run has only lines of the lower level `debug`. */
const INFO_LEVEL = 30

/** Returns the identifier of the report's last run that was not skipped or, if all were skipped, of its last run. */
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
