/** What `tidemark retry-rejected` does: the rejected rows of each report loaded again, then the published copy. */
import { type ReportName, reportNames } from '../../../schema/index.ts'
import type { Config } from '../../config/config.ts'
import { type RetriedReport, retryRejected } from '../../sync/retryRejected.ts'
import { configOf } from '../configOf.ts'
import { findWorker, type Remote } from '../control/remote.ts'
import { type Column, counted, grouped, table } from '../layout.ts'
import { openWarehouse } from '../../wiring/openContext.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { known } from '../wanted.ts'

export interface RetryOptions {
  readonly config?: string
  readonly json?: boolean
}

/** Rows that stay rejected are no failure: the table says how many. A report that is switched off may be named. */
export async function retryRejectedRows(
  shell: Shell,
  names: readonly string[],
  { config: file, json = false }: RetryOptions,
): Promise<ExitCode> {
  const wanted = names.length === 0 ? reportNames : known(names)
  const config = await configOf(shell, file)
  await using worker = await findWorker(shell, config)
  const retried = await (worker === undefined ? retryHere(shell, config, wanted) : retryInWorker(worker, wanted))
  if (json) shell.out.write(`${JSON.stringify({ reports: retried }, undefined, 2)}\n`)
  else shell.out.write(retriedText(retried))
  return 0
}

async function retryHere(shell: Shell, config: Config, wanted: readonly ReportName[]): Promise<RetriedReport[]> {
  const { signal } = shell.stop
  await using warehouse = await openWarehouse(config)
  const retried: RetriedReport[] = []
  for (const report of wanted) {
    retried.push(await retryRejected({ warehouse, clock: shell.clock, settings: config, signal }, report))
  }
  await warehouse.publish(config.published)
  return retried
}

async function retryInWorker(worker: Remote, wanted: readonly ReportName[]): Promise<RetriedReport[]> {
  const request = { do: 'retry-rejected' as const, reports: [...wanted] }
  return (await worker.ask<{ retried: RetriedReport[] }>(request)).retried
}

const COLUMNS: readonly Column[] = [
  { head: 'report' },
  ...['tried', 'loaded', 'still rejected'].map((head): Column => ({ head, align: 'right' })),
]

export function retriedText(retried: readonly RetriedReport[]): string {
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

/** Rows that nobody can load again, since nothing of them was to stay. */
function withheldText(retried: readonly RetriedReport[]): string {
  return retried
    .filter(({ withheld = 0 }) => withheld > 0)
    .map(
      ({ report, withheld = 0 }) =>
        `${report}: ${counted(withheld, 'rejected row')} ${withheld === 1 ? 'is' : 'are'} kept without values (exclude_payload) and can not be loaded again; once the cause is mended: tidemark reconcile ${report}\n`,
    )
    .join('')
}
