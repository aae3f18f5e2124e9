/** Commits loads without rows together, because each transaction takes milliseconds. */
import { latest } from '../../instant.ts'
import type { LastWindow } from '../../plan/lateness.ts'
import { recordRun, type RunRecord } from '../books/runs.ts'
import { closeWindows, nextLoadId } from '../books/windows.ts'
import type { Fences } from '../books/fences.ts'
import { recordRequests } from '../books/requests.ts'
import type { Database } from '../database/duckdb.ts'
import type { Sql } from '../database/sql.ts'
import { type AuditLoad, type ChangesLoad, type LoadInput, type LoadResult, NO_COUNTS } from './loadInput.ts'
import { loadRow } from './recordLoad.ts'

const NOTHING = { ...NO_COUNTS, rows: 0, rejected: 0 }

export type QuietLoads = ReturnType<typeof quietLoads>

/** Keeps loads without changed rows in memory, and writes them together. `begun`: runs that have not committed yet. */
export function quietLoads(database: Database, fences: Fences, begun: Map<string, RunRecord>) {
  const added: ((ChangesLoad | AuditLoad) & { readonly begunAt: RunRecord['startedAt'] })[] = []
  /** If this fails, the next run reads the windows of these loads again. */
  const commit = async (sql: Sql): Promise<void> => {
    const kept = added.splice(0)
    if (kept.length === 0) return
    const first = await nextLoadId(sql)
    const loads = kept.map((load, place) => ({ ...load, ...NOTHING, loadId: first + place, windows: load.closes }))
    for (const fence of new Set(loads.map((load) => load.fence)))
      if (fences.isNewest(fence)) await fences.check(sql, fence)
    await closeWindows(sql, loads)
    await sql.run(`INSERT INTO tidemark.loads VALUES ${loads.map((load) => loadRow(load, load)).join()}`)
    await recordRun(sql, ...loads.flatMap(({ run }) => run ?? []))
    const requests = loads.flatMap((load) => load.requests ?? [])
    await recordRequests(sql, requests, latest(...loads.map(({ serviceNow, now }) => serviceNow ?? now)))
  }
  return {
    /** Keeps a load without rows for the next commit. Returns undefined if the load must be committed now. */
    add: (input: LoadInput): LoadResult | undefined => {
      const run = begun.get(input.runId)
      if (run === undefined || !isQuiet(input) || !fences.isNewest(input.fence)) return undefined
      added.push({ ...input, begunAt: run.startedAt })
      if (input.run !== undefined) begun.delete(input.runId)
      database.postpone(commit)
      return { ...NOTHING, loadId: 0, changes: [] }
    },
    /** Returns the mark and the end of the newest window that is not written yet, or undefined. */
    lastWindow: (report: string, scope: string): LastWindow | undefined => {
      const all = added.flatMap((load) =>
        load.report.name === report ? load.closes.map((each) => [load, each] as const) : [],
      )
      const last = all.findLast(([, window]) => window.scope === scope && window.marks.length > 0)
      return last && { mark: last[1].marks[0]?.value, until: last[1].until, begunAt: last[0].begunAt }
    },
  }
}

function isQuiet(input: LoadInput): input is ChangesLoad | AuditLoad {
  if (input.segment !== undefined) return false
  if (input.kind === 'audit') return input.entryWindows.length + input.audited.length === 0
  return input.kind === 'changes' && (input.gone ?? []).length === 0
}
