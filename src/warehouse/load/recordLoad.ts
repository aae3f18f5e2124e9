/** Writes the records of a load and its run. */
import { earliest } from '../../instant.ts'
import { addLoadCounts } from '../../plan/runCounts.ts'
import type { Segment } from '../../staging/spool.ts'
import { recordRun, type RunRecord } from '../books/runs.ts'
import { countOf, type Sql, text, time } from '../database/sql.ts'
import type { LoadSize } from '../database/loadResources.ts'
import type { LoadInput, LoadResult } from './loadInput.ts'
import type { LoadTransaction } from './loadSteps.ts'

export const stagedBytes = (segment: Segment | undefined): number =>
  segment === undefined ? 0 : segment.collections.reduce((sum, { bytes }) => sum + bytes, segment.bytes)

export const sizeOf = (segment: Segment | undefined): LoadSize => ({
  bytes: stagedBytes(segment),
  rowBytesMax: Math.max(segment?.rowBytesMax ?? 0, ...(segment?.collections ?? []).map((each) => each.lineBytesMax)),
})

export type LoadFigures = Omit<LoadResult, 'changes'>

async function unflaggedRows(sql: Sql, { input, report, staged }: LoadTransaction): Promise<number | null> {
  const { deletedFlag: flag } = report
  if (flag === undefined || input.segment === undefined) return null
  const flagged = staged?.carries(flag) ?? 'true'
  return flagged === 'true' ? 0 : countOf(sql, `staged s WHERE NOT (${flagged})`)
}

export function loadRow(input: LoadInput, figures: LoadFigures, unflagged: number | null = null): string {
  const { loadId, rows, inserted, updated, unchanged, deleted, childrenWritten, rejected, misfits, late } = figures
  const asked = input.segment?.pages.map((page) => page.askedAt) ?? []
  const counts = [rows, inserted, updated, unchanged, deleted, childrenWritten, rejected, stagedBytes(input.segment)]
  const isLateCounted = input.previousRead !== undefined && input.report.newerBy.length > 0
  const lateRows = late?.late ?? (isLateCounted ? 0 : null)
  return `(${loadId}, ${text(input.runId)}, ${text(input.report.name)}, ${time(input.now)}, ${counts.join(', ')}, ${lateRows}, to_milliseconds(${late?.latenessMs ?? null}), ${asked.length === 0 ? null : time(earliest(...asked))}, ${unflagged}, ${misfits})`
}

/** Records a load. `begun` is the record of a run that has not committed anything yet. */
export async function recordLoad(
  sql: Sql,
  load: LoadTransaction,
  { begun, ...figures }: LoadFigures & { readonly begun: RunRecord | undefined },
): Promise<void> {
  const { input } = load
  await sql.run(`INSERT INTO tidemark.loads VALUES ${loadRow(input, figures, await unflaggedRows(sql, load))}`)
  const run = input.run === undefined ? begun : addLoadCounts(input.run, figures)
  if (run !== undefined) await recordRun(sql, run)
}
