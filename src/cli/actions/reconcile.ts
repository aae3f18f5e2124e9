/** `tidemark reconcile`: compares whole reports with the service, publishes, and prints what was found. */
import { reportOf } from '../../../schema/index.ts'
import type { AnswerOf } from '../../operations/contract.ts'
import { grouped, problemText, rightColumns, table } from '../layout.ts'
import { print, type CommandOptions } from '../commandOutput.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { performFor } from '../surroundings.ts'
import { selectReports } from '../reportSelection.ts'

export interface ReconcileOptions extends CommandOptions {
  readonly allowMassDelete?: boolean
}

export async function reconcile(
  shell: Shell,
  names: readonly string[],
  { config, allowMassDelete = false, ...output }: ReconcileOptions,
): Promise<ExitCode> {
  const reports = selectReports(names, config).filter(
    (report) => names.length > 0 || (config.reports[report].enabled && reportOf(report).perRecord === undefined),
  )
  const answer = await performFor(shell, { config, output }, { do: 'reconcile', reports, allowMassDelete })
  return print(shell, output, {
    failed: answer.publishError !== undefined || answer.compared.some(({ error }) => error !== undefined),
    document: () => documentOf(answer),
    text: () => foundText(answer),
  })
}

const documentOf = ({ compared, publishError }: AnswerOf<'reconcile'>): object => ({
  reports: compared.map(({ report, found, error }) => ({ report, found, error })),
  publish_error: publishError,
})

const COLUMNS = [{ head: 'report' }, ...rightColumns('rows', 'missed', 'differed', 'absent', 'deleted')]

const REPAIRED =
  'missed and differed rows were repaired; absent ones are marked as deleted when the next reconcile misses them too\n'

function foundText({ compared, publishError }: AnswerOf<'reconcile'>): string {
  const rows = compared.map(({ report, found }) =>
    found === undefined
      ? [report, 'failed', '', '', '', '']
      : [report, ...[found.rows, found.missed, found.differed, found.absent, found.deleted].map(grouped)],
  )
  const failures = compared.map(({ report, error }) => problemText(report, error)).join('')
  const repaired = compared.some(({ found }) => found !== undefined) ? REPAIRED : ''
  return `${table(COLUMNS, rows)}\n${failures}${problemText('published copy', publishError)}${repaired}`
}
