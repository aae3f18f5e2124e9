/** `tidemark certify`: tests report declarations against the sandbox or the service, and prints the results. */
import { isOwnReport, isPerRecord, isReportName, type ReportName, reportOf, reports } from '../../../schema/index.ts'
import type { Config } from '../../config/config.ts'
import { loadOwnReports } from '../../config/ownReports.ts'
import { declarationsInvalid } from '../../config/problems.ts'
import { within } from '../../clock.ts'
import { asSyncError, usageError } from '../../errors.ts'
import { MINUTE_MS, SECOND_MS } from '../../instant.ts'
import { createLog } from '../../log.ts'
import { standingsOf } from '../../status/standing.ts'
import { clientOf } from '../../wiring/openContext.ts'
import { openNewest } from '../../wiring/published.ts'
import { logLevelOf } from '../../wiring/workLog.ts'
import { examine } from '../certify/service.ts'
import { duration, line } from '../layout.ts'
import { latenessText, overlapAdvice } from '../standingText.ts'
import { conformanceOf } from '../certify/conformance.ts'
import { fail, type Finding, findingsText, hasFailed, ok, skip, warn } from '../check/finding.ts'
import { print } from '../commandOutput.ts'
import { namedReports } from '../../operations/reportSelection.ts'
import type { Action, CommandOptions, Shell } from '../shell.ts'

export interface CertifyOptions {
  readonly load: () => Promise<CommandOptions['config']>
  readonly reportsFrom: readonly string[]
  readonly service?: boolean
  readonly format?: 'text' | 'markdown'
  readonly json?: boolean
}

interface Certified {
  readonly report: string
  readonly claims: readonly Finding[]
}

export const certify: Action<CertifyOptions> = async (shell, options, names) => {
  const { load, reportsFrom, json = false, service = false, format } = options
  const isKnown = names.length > 0 && names.every(isReportName)
  const config = service || (reportsFrom.length === 0 && !isKnown) ? await load() : undefined
  const problems = await loadOwnReports(reportsFrom, shell.cwd)
  if (problems.length > 0) throw declarationsInvalid(problems)
  const certified = namedReports(names, isCertified)
  const audit = certified.find(isPerRecord)
  if (audit !== undefined) {
    const cure = 'Name a report with rows of its own. The tests of Tidemark certify the audit reports.'
    throw usageError(`${audit} is an audit report, which has no declaration of its own kind`, cure)
  }
  const found: Certified[] = []
  for (const report of certified) {
    const { signal } = shell.stop
    const claims = await (service && config ? examined(shell, config, report) : conformanceOf(report, signal))
    found.push({ report, claims })
  }
  const failed = found.some(({ claims }) => hasFailed(claims))
  const document = { ok: !failed, reports: found.map(documentOf) }
  const textOf = ({ report, claims }: Certified, width: number) =>
    format === 'markdown' ? markdownOf(report, claims) : `${report}\n${findingsText(claims, width)}`
  const text = (width: number) => found.map((each) => textOf(each, width)).join('\n')
  return print(shell, { json }, { failed, document, text })
}

const isCertified = (name: ReportName): boolean =>
  !isPerRecord(name) && (!reports.some(isOwnReport) || isOwnReport(reportOf(name)))

const documentOf = ({ report, claims }: Certified): object => ({
  report,
  claims: claims.map(({ check, verdict, ...rest }) => ({ claim: check, result: verdict, ...rest })),
})

const EXAMINE_MS_MAX = 5 * MINUTE_MS

async function examined({ clock, env, stop }: Shell, config: Config, report: ReportName): Promise<Finding[]> {
  const log = createLog({ level: logLevelOf(env, 'error') })
  await using client = clientOf(config, { clock, log, attemptsMax: 2 })
  try {
    const found = await within(EXAMINE_MS_MAX, clock, (late) =>
      examine({ config, client, clock, signal: AbortSignal.any([late, stop.signal]) }, report),
    )
    const late = `it took more than ${duration(EXAMINE_MS_MAX)}`
    return [...(found ?? [warn(report, late, 'Try again when the service is faster.')]), await lateness(config, report)]
  } catch (thrown) {
    stop.signal.throwIfAborted()
    return [fail(report, asSyncError(thrown))]
  }
}

async function lateness(config: Config, report: ReportName): Promise<Finding> {
  const { overlapMs, settleMs } = config.reports[report]
  const set = `overlap ${duration(overlapMs)}, settle ${duration(settleMs)}`
  const newest = await openNewest(config)
  if (newest === undefined) return skip('late rows', `there is no warehouse yet; runs notice late rows (now: ${set})`)
  await using database = newest.database
  const standing = (await standingsOf(database, config)).find((each) => each.report === report)
  const { late_rows: rows = null, largest_lateness_seconds: seconds, advised_overlap: advised } = standing ?? {}
  if (rows === null) return skip('late rows', `runs do not count late rows of this report (now: ${set})`)
  if (rows === 0) return ok('late rows', `no run noticed one; ${set} are enough so far`)
  const found = latenessText(report, (seconds ?? 0) * SECOND_MS)
  return advised
    ? warn('late rows', found, overlapAdvice(report, advised))
    : ok('late rows', `${found}; ${set} are enough`)
}

const cell = (text: string): string => line(text).replaceAll('|', '\\|')
const list = (title: string, items: readonly string[]): readonly string[] =>
  items.length === 0 ? [] : ['', title, '', ...items]

function markdownOf(report: string, findings: readonly Finding[]): string {
  const rows = (verdicts: readonly string[]) => findings.filter(({ verdict }) => verdicts.includes(verdict))
  const found = rows(['ok', 'warn', 'fail']).map((each) => `| ${each.check} | ${each.verdict} | ${cell(each.found)} |`)
  const todo = rows(['warn', 'fail']).map(({ check, cure = '' }) => `- ${check}: ${line(cure)}`)
  const unknown = rows(['skip']).map((each) => `- ${each.check}: ${line(each.found)}`)
  const table = [`## ${report}`, '', '| question | result | found |', '|---|---|---|', ...found]
  return `${[...table, ...list('### What to do', todo), ...list('### Could not be found out', unknown)].join('\n')}\n`
}
