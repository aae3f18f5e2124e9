/** `tidemark verify`: compares a past window with the service, and prints the differences with advice. */
import { reportOf } from '../../../schema/index.ts'
import { formatInstant, type Instant } from '../../instant.ts'
import { type VerifiedReport, verifyReports } from '../../operations/verifyReports.ts'
import type { ScopeComparison } from '../../sync/verify.ts'
import type { Deviation } from '../../warehouse/publish/compareWindow.ts'
import { grouped, leftColumns, line, rightColumns, table, timeText, withoutSubject } from '../layout.ts'
import { print, type CommandOptions, openOutputs } from '../commandOutput.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { selectReports } from '../reportSelection.ts'

export interface VerifyOptions extends CommandOptions {
  readonly from?: Instant
  readonly to?: Instant
}

export async function verify(
  shell: Shell,
  names: readonly string[],
  { config, from, to, ...output }: VerifyOptions,
): Promise<ExitCode> {
  const { clock, stop } = shell
  const reports = selectReports(names, config).filter(
    (report) => names.length > 0 || (config.reports[report].enabled && reportOf(report).perRecord === undefined),
  )
  const { log, view } = openOutputs(shell, output)
  using progress = view
  const onProgress = progress.onProgress.bind(progress)
  const verified = await verifyReports({ reports, from, to }, { config, clock, signal: stop.signal, log, onProgress })
  progress[Symbol.dispose]()
  const code = exitCode(verified)
  print(shell, output, { failed: code !== 0, document: () => documentOf(verified), text: () => textOf(verified) })
  return code
}

/** Returns 1 if rows differ or a read has failed, 2 if all errors are usage errors, otherwise 0. */
function exitCode(verified: readonly VerifiedReport[]): ExitCode {
  const errors = verified.flatMap(({ error }) => error ?? [])
  const differs = verified.some(({ scopes }) => !scopes.every(agrees))
  if (differs || errors.some(({ isUsage }) => !isUsage)) return 1
  return errors.length > 0 ? 2 : 0
}

const agrees = ({ missing, different, extra }: ScopeComparison): boolean =>
  missing.rows + different.rows + extra.rows === 0

const COLUMNS = [...leftColumns('report', 'from', 'to'), ...rightColumns('rows', 'missing', 'different', 'extra')]

function textOf(verified: readonly VerifiedReport[]): string {
  const scopes = verified.flatMap((each) => each.scopes)
  const rows = scopes.map((each) => [
    nameOf(each),
    timeText(each.since),
    timeText(each.until),
    ...[each.rows, each.missing.rows, each.different.rows].map(grouped),
    each.seesExtra ? grouped(each.extra.rows) : '–',
  ])
  const failures = verified.flatMap(({ report, error }) =>
    error === undefined
      ? []
      : [
          `${report}: ${line(withoutSubject(error.message, report))} (${error.code})\n  what to do: ${line(error.cure)}\n`,
        ],
  )
  const drawn = rows.length === 0 ? '' : table(COLUMNS, rows)
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

/** Returns notes about rows that were never edited. They have no modification time, so no window contains them. */
function notCompared(verified: ScopeComparison): string[] {
  const { seesExtra, unmatched, held } = verified
  if (unmatched === 0) return []
  const why = seesExtra
    ? 'have no stamp and match no window'
    : 'match no window, since they were never edited, or not in it'
  const reconcile = `tidemark reconcile ${verified.report}`
  return [`${nameOf(verified)}: ${grouped(unmatched)} of ${grouped(held)} rows ${why}: ${reconcile} compares them\n`]
}

const documentOf = (verified: readonly VerifiedReport[]): object => ({
  reports: verified.map(({ report, scopes, error }) => ({
    report,
    windows: scopes.map(
      ({ scope, since, until, pages, rows, missing, different, extra, seesExtra, unmatched, held }) => ({
        scope,
        from: formatInstant(since),
        to: formatInstant(until),
        pages,
        rows,
        missing,
        different,
        extra: seesExtra ? extra : null,
        unmatched,
        held,
      }),
    ),
    error,
  })),
})
