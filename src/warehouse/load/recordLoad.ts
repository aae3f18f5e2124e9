/** The records of a load in `tidemark.loads` and of its run in `tidemark.runs`. */
import type { Segment } from '../../staging/spool.ts'
import { recordRun, type RunRecord } from '../books/books.ts'
import type { Sql } from '../database/duckdb.ts'
import { time } from '../database/sqlText.ts'
import type { LoadInput, LoadResult } from './loadInput.ts'

/** Returns the number of bytes of all files of a segment. */
export const stagedBytes = (segment: Segment | undefined): number =>
  segment === undefined ? 0 : segment.collections.reduce((sum, { bytes }) => sum + bytes, segment.bytes)

export type LoadFigures = Omit<LoadResult, 'changes'>

/** Returns the number of late rows, 0 for a load without rows; null where late rows are not counted. */
function lateRows(input: LoadInput, { late }: LoadFigures): number | null {
  const isCounted = input.kind === 'changes' && input.previousRead !== undefined && input.report.newerBy.length > 0
  return isCounted ? (late?.late ?? 0) : null
}

interface Recording {
  readonly input: LoadInput
  readonly begun: RunRecord | undefined
}

/** Records the load. The run is recorded with the figures of its last load, and with an earlier load as it began. */
export async function recordLoad(sql: Sql, { input, begun }: Recording, figures: LoadFigures): Promise<void> {
  await sql.run(
    `INSERT INTO tidemark.loads VALUES ($1, $2, $3, ${time(input.now)}, $4, $5, $6, $7, $8, $9, $10, $11, $12, to_milliseconds($13))`,
    [
      figures.loadId,
      input.runId,
      input.report.name,
      figures.rows,
      figures.inserted,
      figures.updated,
      figures.unchanged,
      figures.deleted,
      figures.childrenWritten,
      figures.rejected,
      stagedBytes(input.segment),
      lateRows(input, figures),
      figures.late?.latenessMs ?? null,
    ],
  )
  const run = input.kind === 'retry' ? undefined : input.run
  if (run === undefined) {
    if (begun !== undefined) await recordRun(sql, begun)
    return
  }
  await recordRun(sql, {
    ...run,
    inserted: run.inserted + figures.inserted,
    updated: run.updated + figures.updated,
    deleted: run.deleted + figures.deleted,
    rejected: run.rejected + figures.rejected,
  })
}
