/** What the log says of a run that has ended, a line each. */
import type { Log } from '../../src/log.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'
import type { RunName } from './runs.ts'

/** Whether readers may find other rows after the run: one that failed may have committed some. */
export const changedRows = ({ figures, error }: ReportOutcome): boolean =>
  error !== undefined || figures.inserted + figures.updated + figures.deleted + figures.rejected > 0

/** One line of the log for a run that ended, as loud as it is worth. */
export function tellOutcome(log: Log, kind: RunName, outcome: ReportOutcome): void {
  const { report, runId, state, pages, figures, error, elapsedMs, offReason } = outcome
  const name = kind === 'incremental' ? report : `${report} (${kind})`
  const fields = { report, kind, runId, state, ms: Math.round(elapsedMs) }
  if (state === 'off') return log.debug(fields, `${name}: off, ${offReason ?? 'by configuration'}`)
  if (error !== undefined) {
    const told = { ...fields, code: error.code, cure: error.cure }
    if (state === 'paused') return log.debug(told, `${name}: paused: ${error.message}`)
    const wasStopped = error.code === 'CANCELLED' || error.code === 'FENCED'
    if (wasStopped) return log.info({ ...told, state: 'stopped' }, `${name}: stopped: ${error.message}`)
    return log.warn(told, `${name}: failed: ${error.message}`)
  }
  const { rows, inserted, updated, deleted, rejected, childrenWritten, schemaChanges, late } = figures
  const counts = { pages, rows, inserted, updated, deleted, rejected, childrenWritten, schemaChanges, late }
  const parts = [`${inserted} new`, `${updated} changed`, `${deleted} deleted`, `${rejected} rejected`]
  const shown = parts.filter((part) => !part.startsWith('0 '))
  const what = `${pages} pages, ${rows} rows${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`
  log.info({ ...fields, ...counts }, `${name}: ${what} in ${(elapsedMs / 1_000).toFixed(1)} s`)
}
