/** What DuckDB can't read although it was scanned: told with the report and the place, never as a bare driver message. */
import type { Declaration } from '../../../schema/report.ts'
import { asSyncError, SyncError } from '../../errors.ts'
import type { Segment } from '../../staging/spool.ts'
import type { StageParts } from './stage.ts'

/** For a statement that reads the segment's file. Error: LOAD_REFUSED, for what has no code of its own. */
export const refuses =
  ({ report, segment }: StageParts) =>
  (error: unknown): never => {
    throw stagingRefused(error, report, segment)
  }

function stagingRefused(error: unknown, report: Declaration, segment: Segment): SyncError {
  const known = asSyncError(error)
  if (known.code !== 'UNEXPECTED') return known
  return new SyncError(
    'LOAD_REFUSED',
    `the rows of ${report.name} could not be read into the warehouse: ${known.message}`,
    {
      report: report.name,
      cure: 'Nothing of this load was kept. Run it again with a smaller page_size to narrow it down, and report it with this message.',
      data: { rows: segment.rows, bytes: segment.bytes, pages: segment.pages.length },
      cause: error,
    },
  )
}
