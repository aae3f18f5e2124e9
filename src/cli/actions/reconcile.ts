/** What `tidemark reconcile` does: each report compared whole, then the published copy, then what was found. */
import { randomUUID } from 'node:crypto'
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { errorFrom, type OutcomeDocument } from '../../../jobs/control/wire.ts'
import type { Config } from '../../config/config.ts'
import type { SyncError } from '../../errors.ts'
import { oneRun } from '../../sync/oneRun.ts'
import { pausedReports } from '../../sync/pauses.ts'
import { type ReconcileFound, reconcileReport } from '../../sync/reconcile.ts'
import { configOf } from '../configOf.ts'
import { findWorker, type Remote } from '../control/remote.ts'
import { told } from '../control/syncInWorker.ts'
import { type Column, grouped, line, table } from '../layout.ts'
import { type OwnWork, ownWork } from '../ownWork.ts'
import { openContext, type OpenContext } from '../../wiring/openContext.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { type Loudness, voices } from '../voices.ts'
import { wantedReports } from '../wanted.ts'

export interface ReconcileOptions extends Loudness {
  readonly config?: string
  readonly allowMassDelete?: boolean
}

interface Compared {
  readonly report: ReportName
  readonly found?: ReconcileFound
  readonly error?: SyncError
}

export async function reconcile(
  shell: Shell,
  names: readonly string[],
  { config: file, allowMassDelete = false, ...loudness }: ReconcileOptions,
): Promise<ExitCode> {
  const config = await configOf(shell, file)
  const named = names.length > 0
  const wanted = wantedReports(names, config).filter(
    (report) => named || (config.reports[report].enabled && reportOf(report).perRecord === undefined),
  )
  const work = { shell, config, loudness, wanted, allowMassDelete }
  await using worker = await findWorker(shell, config)
  const compared = await (worker === undefined ? compareHere(work) : compareInWorker(work, worker))
  const failed = compared.some(({ error }) => error !== undefined)
  if (loudness.json === true) shell.out.write(`${JSON.stringify({ reports: compared }, undefined, 2)}\n`)
  else if (loudness.quiet !== true || failed) shell.out.write(foundText(compared))
  return failed ? 1 : 0
}

interface Work {
  readonly shell: Shell
  readonly config: Config
  readonly loudness: Loudness
  readonly wanted: readonly ReportName[]
  readonly allowMassDelete: boolean
}

async function compareHere({ shell, config, loudness, wanted, allowMassDelete }: Work): Promise<Compared[]> {
  await using own = await ownWork(shell, config, loudness)
  using progress = own.view
  await using open = await openContext(config, {
    clock: shell.clock,
    signal: shell.stop.signal,
    log: own.log,
    listener: progress,
    observe: own.observe,
  })
  const compared: Compared[] = []
  for (const report of wanted) compared.push(await compareOne(open, report, { allowMassDelete, own }))
  await open.warehouse.publish(config.published)
  return compared
}

async function compareInWorker(
  { shell, loudness, wanted, allowMassDelete }: Work,
  worker: Remote,
): Promise<Compared[]> {
  const reports = [...wanted]
  using progress = voices(shell, loudness).view
  const ended = await worker.ask<{ compared: (OutcomeDocument & { found?: ReconcileFound })[] }>(
    { do: 'reconcile', reports, allowMassDelete },
    told(progress),
  )
  return ended.compared.map(({ report, error, found }) => ({
    report,
    ...(found !== undefined && { found }),
    ...(error !== undefined && { error: errorFrom(error) }),
  }))
}

async function compareOne(
  { context }: OpenContext,
  report: ReportName,
  { allowMassDelete, own }: { allowMassDelete: boolean; own: OwnWork },
): Promise<Compared> {
  context.signal.throwIfAborted()
  // As in a worker: what is paused is asked for by nobody, and refused credentials ask for no token (product contract §5.9).
  const paused = (await pausedReports(context)).get(report)
  if (paused !== undefined) return { report, error: paused }
  const runId = randomUUID()
  const { outcome, run } = await oneRun(context, { report, kind: 'reconcile', runId }, () =>
    reconcileReport(context, report, { runId, allowMassDelete }),
  )
  own.tell('reconcile', outcome)
  context.signal.throwIfAborted()
  return run === undefined ? { report, error: outcome.error as SyncError } : { report, found: run.found }
}

const COLUMNS: readonly Column[] = [
  { head: 'report' },
  ...['rows', 'missed', 'differed', 'absent', 'deleted'].map((head): Column => ({ head, align: 'right' })),
]

const REPAIRED =
  'missed and differed rows were repaired; absent ones are marked as deleted when the next reconcile misses them too\n'

function foundText(compared: readonly Compared[]): string {
  const rows = compared.map(({ report, found }) =>
    found === undefined
      ? [report, 'failed', '', '', '', '']
      : [report, ...[found.rows, found.missed, found.differed, found.absent, found.deleted].map(grouped)],
  )
  const failures = compared.flatMap(({ report, error }) =>
    error === undefined
      ? []
      : [`${report} failed: ${line(error.message)} (${error.code})\n  what to do: ${line(error.cure)}\n`],
  )
  const repaired = compared.some(({ found }) => found !== undefined) ? REPAIRED : ''
  return `${table(COLUMNS, rows)}\n${failures.join('')}${repaired}`
}
