/** What `tidemark reconcile` does: each report compared whole, then the published copy, then what was found. */
import { randomUUID } from 'node:crypto'
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { asSyncError, type SyncError } from '../../errors.ts'
import { type ReconcileFound, reconcileReport } from '../../sync/reconcile.ts'
import { configOf } from '../configOf.ts'
import { type Column, grouped, line, table } from '../layout.ts'
import { openRooms, type OpenRooms } from '../rooms.ts'
import { type Loudness, voices } from '../run.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { wantedReports } from '../wanted.ts'

export interface ReconcileArguments extends Loudness {
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
  { config: file, allowMassDelete = false, ...loudness }: ReconcileArguments,
): Promise<ExitCode> {
  const config = await configOf(shell, file)
  const named = names.length > 0
  const wanted = wantedReports(names, config).filter(
    (report) => named || (config.reports[report].enabled && reportOf(report).perRecord === undefined),
  )
  const { log, view } = voices(shell, loudness)
  using progress = view
  await using open = await openRooms(config, { shell, log, listener: progress })
  const compared: Compared[] = []
  for (const report of wanted) compared.push(await compareOne(open, report, allowMassDelete))
  await open.warehouse.publish(config.published)
  progress[Symbol.dispose]()
  const failed = compared.some(({ error }) => error !== undefined)
  if (loudness.json === true) shell.out.write(`${JSON.stringify({ reports: compared }, undefined, 2)}\n`)
  else if (loudness.quiet !== true || failed) shell.out.write(foundText(compared))
  return failed ? 1 : 0
}

async function compareOne({ rooms }: OpenRooms, report: ReportName, allowMassDelete: boolean): Promise<Compared> {
  rooms.signal.throwIfAborted()
  try {
    const { found } = await reconcileReport(rooms, report, { runId: randomUUID(), allowMassDelete })
    return { report, found }
  } catch (error) {
    rooms.signal.throwIfAborted()
    return { report, error: asSyncError(error) }
  }
}

const COLUMNS: readonly Column[] = [
  { head: 'report' },
  ...['rows', 'missed', 'differed', 'absent', 'deleted'].map((head): Column => ({ head, align: 'right' })),
]

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
  return `${table(COLUMNS, rows)}\n${failures.join('')}missed and differed rows were repaired; absent ones are marked as deleted when the next reconcile misses them too\n`
}
