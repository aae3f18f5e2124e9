/** `tidemark verify`: compares a past window with the service, and prints the differences with advice. */
import { formatInstant, type Instant } from '../../instant.ts'
import type { VerifiedReport } from '../../operations/verifyReports.ts'
import type { ScopeComparison } from '../../sync/verify.ts'
import type { Deviation } from '../../warehouse/publish/compareWindow.ts'
import { openOutputs, print } from '../commandOutput.ts'
import { counted, grouped, problemText, table, timeText } from '../layout.ts'
import type { Action, CommandOptions, ExitCode } from '../shell.ts'
import { tidemarkOf } from '../performAndPrint.ts'

export interface VerifyOptions extends CommandOptions {
  readonly from?: Instant
  readonly to?: Instant
}

export const verify: Action<VerifyOptions> = async (shell, options, names) => {
  const { log, view } = openOutputs(shell, options)
  using progress = view
  await using tidemark = tidemarkOf(shell, options, () => log)
  const { from, to } = options
  const run = tidemark.verify(names, { from, to, signal: shell.stop.signal })
  for await (const event of run) progress.onProgress(event.progress)
  const verified = await run
  progress[Symbol.dispose]()
  const code = exitCode(verified)
  const text = (width: number) => textOf(verified, width)
  print(shell, options, { failed: code !== 0, document: { reports: verified.map(documentOf) }, text })
  return code
}

function exitCode(verified: readonly VerifiedReport[]): ExitCode {
  const errors = verified.flatMap(({ error }) => error ?? [])
  const differs = verified.some(({ scopes }) => !scopes.every(agrees))
  if (differs || errors.some(({ isUsage }) => !isUsage)) return 1
  return errors.length > 0 ? 2 : 0
}

const agrees = ({ missing, different, extra }: ScopeComparison): boolean =>
  missing.rows + different.rows + extra.rows === 0

const COLUMNS = ['report', 'from', 'to', 'rows', 'missing', 'different', { head: 'extra', align: 'right' }] as const

function textOf(verified: readonly VerifiedReport[], width: number): string {
  const scopes = verified.flatMap((each) => each.scopes)
  const rows = scopes.map((each) => [
    nameOf(each),
    timeText(each.since),
    timeText(each.until),
    each.rows,
    each.missing.rows,
    each.different.rows,
    each.seesExtra ? each.extra.rows : '–',
  ])
  const failures = verified.map(({ report, error }) => problemText(report, error, ''))
  const drawn = rows.length === 0 ? '' : table(COLUMNS, rows, width)
  return `${drawn}${[...scopes.flatMap(advice), ...failures].join('')}`
}

const nameOf = ({ report, scope }: ScopeComparison): string => (scope === '' ? report : `${report} ${scope}`)

function advice(verified: ScopeComparison): string[] {
  const { report, since, until, missing, different, extra } = verified
  const again = `tidemark backfill ${report} --from ${formatInstant(since)} --to ${formatInstant(until)}`
  const deviation = (what: string, { rows, keys }: Deviation, cure: string) =>
    rows === 0
      ? []
      : [
          `${nameOf(verified)}: ${grouped(rows)} ${what}: ${keys.join(', ')}${rows > keys.length ? ', …' : ''}\n  what to do: ${cure}\n`,
        ]
  return [
    ...notCompared(verified),
    ...deviation('missing', missing, `${again}; rows that could not be stored are in tidemark.rejected_rows`),
    ...deviation('different', different, again),
    ...deviation(
      'extra (held, and the service no longer shows them)',
      extra,
      `tidemark reconcile ${report}, which marks as deleted what is gone`,
    ),
  ]
}

function notCompared(verified: ScopeComparison): string[] {
  const { seesExtra, unmatched, held } = verified
  if (unmatched === 0) return []
  const why = seesExtra
    ? 'have no stamp and match no window'
    : 'match no window, since they were never edited, or not in it'
  const reconcile = `tidemark reconcile ${verified.report}`
  return [`${nameOf(verified)}: ${grouped(unmatched)} of ${counted(held, 'row')} ${why}: ${reconcile} compares them\n`]
}

const documentOf = ({ report, scopes, error }: VerifiedReport): object => ({
  report,
  windows: scopes.map((verified) => {
    const { report: _, since, until, extra, seesExtra, ...facts } = verified
    return { from: formatInstant(since), to: formatInstant(until), ...facts, extra: seesExtra ? extra : null }
  }),
  error,
})
