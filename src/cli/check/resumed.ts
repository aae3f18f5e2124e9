/** A check that a paused report passes is the operator's word that it may run again (product contract §5.9). */
import { isReportName, type ReportName } from '../../../schema/index.ts'
import type { Config } from '../../config/config.ts'
import { asSyncError } from '../../errors.ts'
import { pauses } from '../../warehouse/books/books.ts'
import { findWorker, type Remote } from '../control/remote.ts'
import { mayExist, openWarehouseToRead } from '../../wiring/published.ts'
import { openWarehouse } from '../../wiring/openContext.ts'
import type { Shell } from '../shell.ts'
import { type Finding, ok, warn } from './finding.ts'

/** Resumes reports that were refused before and may be read now; what an operator paused stays paused. */
export async function resumeChecked(shell: Shell, config: Config, findings: readonly Finding[]): Promise<Finding[]> {
  const readable = new Set(
    findings.filter(({ verdict }) => verdict === 'ok' || verdict === 'warn').map(({ check }) => check),
  )
  try {
    // Opened to be written it would be brought to this program's layout, and a check writes nothing.
    if (!mayExist(config) || !(await holdsRefused(config))) return []
    await using warehouse = await openWarehouse(config)
    return told(await warehouse.resume([...readable].filter(isReportName), { onlyRefused: true }))
  } catch (thrown) {
    const error = asSyncError(thrown)
    if (error.code !== 'WAREHOUSE_LOCKED') return []
    await using worker = await findWorker(shell, config)
    if (worker !== undefined) return resumeInWorker(worker, [...readable].filter(isReportName))
    return [
      warn(
        'resumed',
        'paused reports stay paused: the warehouse is open in another process',
        'Run check again when it is done.',
      ),
    ]
  }
}

async function holdsRefused(config: Config): Promise<boolean> {
  await using database = await openWarehouseToRead(config)
  return (await pauses(database)).some(({ code }) => code !== 'REPORT_PAUSED')
}

async function resumeInWorker(worker: Remote, reports: ReportName[]): Promise<Finding[]> {
  if (reports.length === 0) return []
  const { resumed } = await worker.ask<{ resumed: string[] }>({ do: 'resume', reports, onlyRefused: true })
  return told(
    resumed,
    'the worker runs them again, with the settings of its own start, and its secret unless that is in a file',
  )
}

const told = (resumed: readonly string[], then = 'sync runs them again'): Finding[] =>
  resumed.length === 0 ? [] : [ok('resumed', `${resumed.join(', ')}: paused before, may be read now, so ${then}`)]
