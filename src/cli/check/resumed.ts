/** Ends the pauses of reports that pass their check (product contract §5.9). */
import { isReportName } from '../../../schema/index.ts'
import type { Config } from '../../config/config.ts'
import { asSyncError } from '../../errors.ts'
import { pauses } from '../../warehouse/books/books.ts'
import { findWorker } from '../../operations/worker.ts'
import { mayExist, openWarehouseToRead } from '../../wiring/published.ts'
import { openWarehouse } from '../../wiring/openContext.ts'
import type { Shell } from '../shell.ts'
import { type Finding, ok, warn } from './finding.ts'

/** Ends pauses of reports that the service had refused and now allows. Pauses by an operator stay. */
export async function resumeChecked(shell: Shell, config: Config, findings: readonly Finding[]): Promise<Finding[]> {
  const reports = [
    ...new Set(findings.filter(({ verdict }) => verdict === 'ok' || verdict === 'warn').map(({ check }) => check)),
  ].filter(isReportName)
  try {
    // Opening for writing may migrate the warehouse. So it is only done if there is a pause to end.
    if (!mayExist(config) || !(await holdsRefused(config))) return []
    await using warehouse = await openWarehouse(config)
    return resumedFindings(await warehouse.resume(reports, { onlyRefused: true }))
  } catch (thrown) {
    const error = asSyncError(thrown)
    if (error.code !== 'WAREHOUSE_LOCKED') return []
    await using worker = await findWorker(config, shell.clock)
    if (worker !== undefined && reports.length === 0) return []
    if (worker !== undefined) {
      const caller = { tell: () => undefined, signal: shell.stop.signal }
      const { resumed } = await worker.ask({ do: 'resume', reports, onlyRefused: true }, caller)
      return resumedFindings(resumed, BY_WORKER)
    }
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

const BY_WORKER =
  'the worker runs them again, with the settings of its own start, and its secret unless that is in a file'

const resumedFindings = (resumed: readonly string[], then = 'sync runs them again'): Finding[] =>
  resumed.length === 0 ? [] : [ok('resumed', `${resumed.join(', ')}: paused before, may be read now, so ${then}`)]
