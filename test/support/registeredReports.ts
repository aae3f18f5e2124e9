/**
 * Removes the reports that a test file has registered. Test files share the loaded modules of a process, so a report
 * of one file would otherwise be part of the configuration schema in the files after it.
 */
import { afterAll } from 'vitest'
import { isOwnReport, reportNames, reports } from '../../schema/index.ts'

afterAll(() => {
  const kept = reports.filter((report) => !isOwnReport(report))
  reports.splice(0, reports.length, ...kept)
  reportNames.splice(0, reportNames.length, ...kept.map(({ name }) => name))
})
