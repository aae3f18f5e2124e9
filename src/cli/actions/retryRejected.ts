/** `tidemark retry-rejected` and `tidemark rejected dismiss`: change rejected rows, publish, and print the result. */
import { usageError } from '../../errors.ts'
import type { AnswerOf } from '../../operations/contract.ts'
import { counted, table } from '../layout.ts'
import { namedReports } from '../../operations/reportSelection.ts'
import type { Action } from '../shell.ts'
import { performAndPrint, starting } from '../performAndPrint.ts'

type Retried = AnswerOf<'retry-rejected'>['retried']

/** Loads rejected rows again. Like a sync, exits with 0 even if rows are rejected again. */
export const retryRejectedRows: Action = async (shell, options, names) => {
  const request = { do: 'retry-rejected', reports: namedReports(names) } as const
  return performAndPrint(shell, { ...options, start: starting(request) }, ({ retried }) => ({
    document: { reports: retried },
    text: () => retriedText(retried),
  }))
}

export const dismissRejectedRows: Action = async (shell, options, [what, name, ...keys]) => {
  if (what !== 'dismiss') {
    throw usageError(`there is no "tidemark rejected ${what}"`, 'Run: tidemark rejected dismiss [REPORT] [KEY…]')
  }
  const reports = namedReports(name === undefined ? [] : [name])
  const request = { do: 'dismiss-rejected', reports, ...(keys.length > 0 && { keys }) } as const
  return performAndPrint(shell, { ...options, start: starting(request) }, ({ dismissed }) => {
    const lines = dismissed
      .filter(({ rows }) => rows > 0)
      .map(({ report, rows }) => `${report}: ${counted(rows, 'rejected row')} dismissed\n`)
    return lines.join('') || 'no such rejected rows are listed\n'
  })
}

export function retriedText(retried: Retried): string {
  const some = retried.filter(({ tried }) => tried > 0)
  const unkept = withheldText(retried)
  if (some.length === 0) return unkept === '' ? 'no rejected rows are kept\n' : unkept
  const rows = some.map(({ report, tried, loaded, rejected }) => [report, tried, loaded, rejected])
  const refused = some.filter(({ rejected }) => rejected > 0).map(({ report }) => report)
  const left = some.reduce((sum, { rejected }) => sum + rejected, 0)
  const note =
    left === 0
      ? ''
      : `\n${counted(left, 'row')} can not be stored yet; see why with: tidemark query "SELECT report, key, reason FROM tidemark.rejected_rows"\nif the service has mended them since: tidemark reconcile ${refused.join(' ')}\n`
  return `${table(['report', 'tried', 'loaded', 'still rejected'], rows)}${note}${unkept}`
}

const withheldText = (retried: Retried): string =>
  retried
    .filter(({ withheld = 0 }) => withheld > 0)
    .map(
      ({ report, withheld = 0 }) =>
        `${report}: ${counted(withheld, 'rejected row')} ${withheld === 1 ? 'is' : 'are'} kept without values (exclude_payload) and can not be loaded again; once the cause is mended: tidemark reconcile ${report}\n`,
    )
    .join('')
