/** `tidemark retry-rejected` and `tidemark rejected dismiss`: change rejected rows, publish, and print the result. */
import { reportNames } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import { type AnswerOf, errorFrom } from '../../operations/contract.ts'
import { counted, grouped, problemText, rightColumns, table } from '../layout.ts'
import { print, type CommandOptions } from '../commandOutput.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { performFor } from '../surroundings.ts'
import { requireReportNames } from '../reportSelection.ts'

type Retried = AnswerOf<'retry-rejected'>['retried']

/** Succeeds even if a row is rejected again. */
export async function retryRejectedRows(
  shell: Shell,
  names: readonly string[],
  { config, ...output }: CommandOptions,
): Promise<ExitCode> {
  const reports = [...(names.length === 0 ? reportNames : requireReportNames(names))]
  const { retried, publishError } = await performFor(shell, { config, output }, { do: 'retry-rejected', reports })
  return print(shell, output, {
    failed: publishError !== undefined,
    document: () => ({ reports: retried, publish_error: publishError }),
    text: () => `${retriedText(retried)}${problemText('published copy', publishError)}`,
  })
}

export async function dismissRejectedRows(
  shell: Shell,
  [what, name, ...keys]: readonly string[],
  { config }: CommandOptions,
): Promise<ExitCode> {
  if (what !== 'dismiss') {
    throw new SyncError('USAGE_INVALID', `there is no "tidemark rejected ${what}"`, {
      cure: 'Run: tidemark rejected dismiss [REPORT] [KEY…]',
    })
  }
  const reports = [...(name === undefined ? reportNames : requireReportNames([name]))]
  const request = { do: 'dismiss-rejected' as const, reports, ...(keys.length > 0 && { keys }) }
  const { dismissed, publishError } = await performFor(shell, { config, output: {} }, request)
  const lines = dismissed
    .filter(({ rows }) => rows > 0)
    .map(({ report, rows }) => `${report}: ${counted(rows, 'rejected row')} dismissed\n`)
  shell.out.write(lines.join('') || 'no such rejected rows are listed\n')
  if (publishError !== undefined) throw errorFrom(publishError)
  return 0
}

const COLUMNS = [{ head: 'report' }, ...rightColumns('tried', 'loaded', 'still rejected')]

export function retriedText(retried: Retried): string {
  const some = retried.filter(({ tried }) => tried > 0)
  const unkept = withheldText(retried)
  if (some.length === 0) return unkept === '' ? 'no rejected rows are kept\n' : unkept
  const rows = some.map(({ report, tried, loaded, rejected }) => [report, ...[tried, loaded, rejected].map(grouped)])
  const refused = some.filter(({ rejected }) => rejected > 0).map(({ report }) => report)
  const left = some.reduce((sum, { rejected }) => sum + rejected, 0)
  const note =
    left === 0
      ? ''
      : `\n${counted(left, 'row')} can not be stored yet; see why with: tidemark query "SELECT report, key, reason FROM tidemark.rejected_rows"\nif the service has mended them since: tidemark reconcile ${refused.join(' ')}\n`
  return `${table(COLUMNS, rows)}${note}${unkept}`
}

/** Names rejected rows that cannot be loaded again, because `exclude_payload` has removed their values. */
function withheldText(retried: Retried): string {
  return retried
    .filter(({ withheld = 0 }) => withheld > 0)
    .map(
      ({ report, withheld = 0 }) =>
        `${report}: ${counted(withheld, 'rejected row')} ${withheld === 1 ? 'is' : 'are'} kept without values (exclude_payload) and can not be loaded again; once the cause is mended: tidemark reconcile ${report}\n`,
    )
    .join('')
}
