/** `tidemark check`: runs every check and prints a table of their findings. */
import { createLog } from '../../log.ts'
import { checkConfiguration, checkPublished, checkWarehouse, checkDisk } from '../check/files.ts'
import { type Finding, findingsText, hasFailed, ok, warn, fail } from '../check/finding.ts'
import { checkNetwork } from '../check/network.ts'
import { checkService } from '../check/service.ts'
import { clientOf, openWarehouse } from '../../wiring/openContext.ts'
import type { Action, CommandOptions, Shell } from '../shell.ts'
import { print } from '../commandOutput.ts'
import { logLevelOf } from '../../wiring/workLog.ts'
import type { Config, ReceiverConfig } from '../../config/config.ts'
import { CONSOLE_TOKEN } from '../../config/environment.ts'
import { addressOf, checkTokens } from '../../console/access/address.ts'
import { asSyncError } from '../../errors.ts'
import { latenessText, missedText, overlapAdvice } from '../standingText.ts'
import { openNewest, mayExist, openWarehouseToRead } from '../../wiring/published.ts'
import { budgetText } from '../../status/budgetText.ts'
import { receiversBehind } from '../../status/receivers.ts'
import { type Standing, standingsOf } from '../../status/standing.ts'
import { existsSync } from 'node:fs'
import { postTest } from '../../../jobs/notify/deliveries.ts'
import { openStore } from '../../../jobs/stores/openStore.ts'
import type { StoreFinding } from '../../../jobs/stores/store.ts'
import type { Clock } from '../../clock.ts'
import { isReportName } from '../../../schema/index.ts'
import { pauses } from '../../warehouse/books/reportStates.ts'
import { findWorker } from '../../operations/findWorker.ts'

/** Attempts per request. A check makes fewer than a run, because a user waits for its result. */
const ATTEMPTS_MAX = 2

type CheckOptions = CommandOptions & { readonly notify?: boolean }

export const check: Action<CheckOptions> = async (shell, { config, json = false, notify = false }) => {
  const { clock, stop } = shell
  const log = createLog({ level: logLevelOf(shell.env, 'error') })
  await using client = clientOf(config, { clock, log, attemptsMax: ATTEMPTS_MAX })
  const findings: Finding[] = [
    checkConfiguration(config),
    await checkNetwork(config, clock),
    ...(await checkService({ config, client, clock, signal: stop.signal })),
    ...(await checkQueue(config, clock)),
    checkConsole(config),
    await checkWarehouse(config),
    await checkDisk(config),
    await checkPublished(config),
    ...(await checkReports(config)),
    ...(await checkReceivers(config, shell, notify)),
  ]
  findings.push(...(await resumeReadable(shell, config, findings)))
  const failed = hasFailed(findings)
  const checks = findings.map(({ verdict, ...rest }) => ({ ...rest, result: verdict }))
  const text = (width: number) => findingsText(findings, width)
  return print(shell, { json }, { failed, document: { ok: !failed, checks }, text })
}

function checkConsole({ console: { host, port, token, viewToken } }: Config): Finding {
  try {
    checkTokens(host, { token, viewToken })
  } catch (thrown) {
    const { message, cure } = asSyncError(thrown)
    return warn('console', `a worker would not start: ${message}`, cure)
  }
  const where = port === 0 ? `any free port of ${host}` : addressOf(host, port)
  return ok('console', `${where}, ${token === undefined ? 'a token made at each start' : `token in ${CONSOLE_TOKEN}`}`)
}

async function checkReports(config: Config): Promise<Finding[]> {
  try {
    const newest = await openNewest(config)
    if (newest === undefined) return []
    await using database = newest.database
    const standings = (await standingsOf(database, config)).filter(({ state }) => state !== 'off')
    const advices = standings.flatMap((standing) => {
      const { report, advised_overlap: overlap, largest_lateness_seconds: seconds } = standing
      const missed = missedText(standing)
      if (missed !== undefined && overlap === null)
        return [warn('overlap', `${report}: ${missed}`, `${report}: if rows came late, set a longer overlap`)]
      if (overlap === null) return []
      const found = `${report}: ${latenessText(report, (seconds ?? 0) * 1_000)}`
      return [warn('overlap', found, `${report}: ${overlapAdvice(report, overlap)}`)]
    })
    const late = standings.reduce((sum, { late_rows: rows }) => sum + (rows ?? 0), 0)
    const requests = budgetFindings(standings, config)
    if (advices.length > 0) return [...advices, ...requests]
    const found = late === 0 ? 'no run noticed a late row' : 'it is enough for the rows that came late'
    return [ok('overlap', found), ...requests]
  } catch (error) {
    // `checkWarehouse` reports all other errors, so this check reports only UNEXPECTED.
    return asSyncError(error).code === 'UNEXPECTED'
      ? [warn('overlap', asSyncError(error).message, 'Look at the line of the warehouse.')]
      : []
  }
}

function budgetFindings(standings: readonly Standing[], config: Config): Finding[] {
  const text = budgetText(standings, config, config.reports)
  if (text === undefined) return []
  const { use, effect } = text
  const cure = 'For newer rows, raise requests_per_day. For fewer requests, set a longer "every".'
  return [effect.length === 0 ? ok('requests', use) : warn('requests', [use, ...effect].join('; '), cure)]
}

async function checkReceivers(config: Config, { clock, stop }: Shell, isSending: boolean): Promise<Finding[]> {
  const behind = await receiversBehind(config)
  const check = async (receiver: ReceiverConfig): Promise<Finding> => {
    const { name, format } = receiver
    const failure = isSending ? await postTest(receiver, { config, clock, signal: stop.signal }) : undefined
    if (failure !== undefined) return fail(name, failure)
    const problem = behind.find((each) => each.receiver === name)
    if (problem !== undefined) return warn(name, problem.why, problem.cure)
    return ok(name, `format ${format}, ${isSending ? 'accepted a test message' : '--notify posts a test message'}`)
  }
  return Promise.all((config.notify?.receivers ?? []).map(check))
}

const CHECK = 'queue'

export async function checkQueue({ queue, warehouse }: Config, clock: Clock): Promise<Finding[]> {
  const directory = `${warehouse}.queue`
  // Opening the embedded queue would create its folder, and a check must not change anything.
  if (queue === 'embedded' && !existsSync(directory))
    return [ok(CHECK, `embedded, in ${directory}; the first worker makes it`)]
  try {
    await using store = await openStore(queue, { directory, clock })
    return findingsOf(await store.check())
  } catch (thrown) {
    const error = asSyncError(thrown)
    if (error.code === 'QUEUE_LOCKED') return [ok(CHECK, `embedded, in ${directory}; a worker has it open`)]
    return [fail(CHECK, error)]
  }
}

function findingsOf(findings: readonly StoreFinding[]): Finding[] {
  const passed = findings.filter(({ state }) => state === 'passed').map(({ what }) => what)
  const others = findings.flatMap(({ state, what, cure = '' }) =>
    state === 'passed' ? [] : [{ ...warn(CHECK, what, cure), verdict: state === 'failed' ? 'fail' : 'warn' } as const],
  )
  return passed.length === 0 ? others : [ok(CHECK, passed.join(', ')), ...others]
}

/** Resumes reports that were paused because the service refused them, and that passed the check now. */
async function resumeReadable(shell: Shell, config: Config, findings: readonly Finding[]): Promise<Finding[]> {
  const passed = findings.filter(({ verdict }) => verdict === 'ok' || verdict === 'warn').map(({ check }) => check)
  const reports = passed.filter(isReportName)
  try {
    // Opens the warehouse only if a report must be resumed, because opening can migrate the tables.
    if (!mayExist(config) || !(await hasRefusedReports(config))) return []
    await using warehouse = await openWarehouse(config)
    return resumedFindings(await warehouse.resume(reports, { onlyRefused: true }))
  } catch (thrown) {
    const error = asSyncError(thrown)
    if (error.code !== 'WAREHOUSE_LOCKED') return []
    await using worker = await findWorker(config, shell.clock)
    if (worker !== undefined && reports.length === 0) return []
    if (worker !== undefined) {
      const caller = { by: 'check', onEvent: () => undefined, signal: shell.stop.signal }
      const { resumed } = await worker.ask({ do: 'resume', reports, onlyRefused: true }, caller)
      return resumedFindings(resumed, BY_WORKER)
    }
    const found = 'paused reports stay paused: the warehouse is open in another process'
    return [warn('resumed', found, 'Run check again when it is done.')]
  }
}

async function hasRefusedReports(config: Config): Promise<boolean> {
  await using database = await openWarehouseToRead(config)
  return (await pauses(database)).some(({ code }) => code !== 'REPORT_PAUSED')
}

const BY_WORKER =
  'the worker runs them again, with the settings of its own start, and its secret unless that is in a file'

const resumedFindings = (resumed: readonly string[], then = 'sync runs them again'): Finding[] =>
  resumed.length === 0 ? [] : [ok('resumed', `${resumed.join(', ')}: paused before, may be read now, so ${then}`)]
