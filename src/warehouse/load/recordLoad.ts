/** Writes the record of a load to `tidemark.loads`, and the record of its run to `tidemark.runs`. */
import { earliest } from '../../instant.ts'
import { addLoadCounts } from '../../plan/runCounts.ts'
import type { Segment } from '../../staging/spool.ts'
import { recordRun, type RunRecord } from '../books/books.ts'
import { countOf, type Sql, text, time } from '../database/sql.ts'
import type { LoadSize } from '../database/loadResources.ts'
import type { LoadInput, LoadResult } from './loadInput.ts'
import { onStagedTable } from './merge.ts'
import type { StagedRows } from './stage.ts'

export const stagedBytes = (segment: Segment | undefined): number =>
  segment === undefined ? 0 : segment.collections.reduce((sum, { bytes }) => sum + bytes, segment.bytes)

export const sizeOf = (segment: Segment | undefined): LoadSize => ({
  bytes: stagedBytes(segment),
  rowBytesMax: Math.max(segment?.rowBytesMax ?? 0, ...(segment?.collections ?? []).map((each) => each.lineBytesMax)),
})

export type LoadFigures = Omit<LoadResult, 'changes'>

function lateRows(input: LoadInput, { late }: LoadFigures): number | null {
  const isCounted = input.kind === 'changes' && input.previousRead !== undefined && input.report.newerBy.length > 0
  return isCounted ? (late?.late ?? 0) : input.kind === 'reread' ? (late?.late ?? null) : null
}

interface LoadRecording {
  readonly input: LoadInput
  readonly begun: RunRecord | undefined
  readonly staged: StagedRows | undefined
}

async function unflaggedRows(sql: Sql, { input, staged }: LoadRecording): Promise<number | null> {
  const { deletedFlag: flag } = input.report
  if (flag === undefined || input.segment === undefined) return null
  const flagged = staged?.carries(flag) ?? 'true'
  return flagged === 'true' ? 0 : countOf(sql, `staged s WHERE NOT (${onStagedTable(flagged)})`)
}

/** Returns the row of a load in `tidemark.loads`, as SQL. */
export function loadRow(input: LoadInput, figures: LoadFigures, unflagged: number | null = null): string {
  const { loadId, rows, inserted, updated, unchanged, deleted, childrenWritten, rejected, misfits, late } = figures
  const asked = input.segment?.pages.map((page) => page.askedAt) ?? []
  const counts = [rows, inserted, updated, unchanged, deleted, childrenWritten, rejected, stagedBytes(input.segment)]
  return `(${loadId}, ${text(input.runId)}, ${text(input.report.name)}, ${time(input.now)}, ${counts.join(', ')}, ${lateRows(input, figures)}, to_milliseconds(${late?.latenessMs ?? null}), ${asked.length === 0 ? null : time(earliest(...asked))}, ${unflagged}, ${misfits})`
}

export async function recordLoad(sql: Sql, recording: LoadRecording, figures: LoadFigures): Promise<void> {
  const { input, begun } = recording
  await sql.run(`INSERT INTO tidemark.loads VALUES ${loadRow(input, figures, await unflaggedRows(sql, recording))}`)
  const run = input.kind === 'retry' ? undefined : input.run
  if (run === undefined) {
    if (begun !== undefined) await recordRun(sql, begun)
    return
  }
  await recordRun(sql, addLoadCounts(run, figures))
}
