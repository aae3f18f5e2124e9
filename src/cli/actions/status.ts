/** `tidemark status`: prints how fresh each report is, and what the worker is doing. */
import { openStore } from '../../../jobs/stores/openStore.ts'
import { reportNames } from '../../../schema/index.ts'
import type { Config } from '../../config/config.ts'
import { formatInstant, fromMillis, type Instant, millisBetween } from '../../instant.ts'
import type { Status, WorkerStatus } from '../../operations/readStatus.ts'
import type { SyncError } from '../../errors.ts'
import { findWorker } from '../../operations/findWorker.ts'
import { budgetText } from '../../status/budgetText.ts'
import { upkeepText } from '../../status/upkeepText.ts'
import { receiversBehind } from '../../status/receivers.ts'
import { lakeName } from '../../warehouse/database/lake.ts'
import { HEARTBEAT_AGE_MS_MAX, heartbeatAgeMs } from '../../worker/heartbeat.ts'
import { print } from '../commandOutput.ts'
import { counted, duration, table, timeText } from '../layout.ts'
import type { Action, Shell } from '../shell.ts'
import { standingsText } from '../standingText.ts'
import { tidemarkOf } from '../performAndPrint.ts'

export const status: Action = async (shell, { config, json = false }) => {
  let silence: SyncError | undefined
  await using tidemark = tidemarkOf({ ...shell, onSilence: (error) => void (silence = error) }, { config })
  const found = await tidemark.status({ signal: shell.stop.signal })
  const { from, path, standings, ...more } = found
  const behind = await receiversBehind(config)
  const document = { from, path, reports: standings, ...more, receivers_behind: behind }
  const note = json ? '' : silence === undefined ? await noteText(shell, config, found) : silenceText(silence)
  const problems = behind.map(({ receiver, why, cure }) => `${receiver} is ${why}\n  what to do: ${cure}\n`)
  const end = `${note}${problems.length === 0 ? '' : `\n${problems.join('')}`}`
  const { use, effect = [] } = budgetText(standings, config, config.reports) ?? {}
  const lines = [use ?? [], ...effect, ...upkeepText(found.upkeep)].flat()
  const figures = lines.length === 0 ? '' : `\n${lines.join('\n')}\n`
  const text = (width: number) =>
    from === null ? end : `${standingsText(standings, config.reports, width)}${figures}\n${end}`
  return print(shell, { json }, { document, text })
}

const silenceText = ({ message }: SyncError) => `${message}\nA worker may run. This is the last known state.\n`

async function noteText(shell: Shell, config: Config, found: Status): Promise<string> {
  const absent = config.lake ? `there is no lake at ${lakeName(config.lake)}` : 'nothing was synced yet'
  if (found.from === null) return `${absent}: run "tidemark sync"\n`
  if (found.from === 'worker') return `${nextText(found, shell.clock.now())}\n${activityText(found)}`
  return found.from === 'published' ? PUBLISHED_ONLY : unownedText(shell, config)
}

const PUBLISHED_ONLY =
  'Another process is writing the warehouse, or this user may not open it; this is the published copy.\n'

const NO_WORKER = 'so nothing is read by itself: "tidemark worker" starts one, "tidemark sync" reads once.'

const SILENT =
  'A worker runs, but it did not answer: it is busy, frozen, or has just started. These figures are from the warehouse.'

const STARTING =
  'If a worker has just started, it opens the warehouse now: run "tidemark status" again in a few seconds.'

async function unownedText(shell: Shell, config: Config): Promise<string> {
  await using owner = await findWorker(config, shell.clock)
  if (owner !== undefined) return `${SILENT}\nRun "tidemark status" again in a few seconds.\n`
  const running = await listQueueWorkers(shell, config)
  if (running.length > 0)
    return `No worker owns the warehouse, ${NO_WORKER}\nThere run ${running.join(' and ')}. ${STARTING}\n`
  const silent = await heartbeatAgeMs(config.warehouse, shell.clock)
  if (silent === undefined || silent >= HEARTBEAT_AGE_MS_MAX) return `No worker runs, ${NO_WORKER}\n`
  // The heartbeat is recent, but no worker is the owner: the worker was killed, or it lacks the role `load`.
  const lived = `A worker on this machine showed ${Math.round(silent / 1_000)} s ago that it lives`
  return `${lived}, but none owns the warehouse, ${NO_WORKER}\n${STARTING}\n`
}

async function listQueueWorkers({ clock }: Shell, { queue }: Config): Promise<string[]> {
  if (queue === 'embedded') return []
  try {
    await using store = await openStore(queue, { directory: '', clock })
    const workers = { pull: await store.workersOf('windows'), schedule: await store.workersOf('ticks') }
    return Object.entries(workers).flatMap(([role, count]) =>
      count === 0 ? [] : [`${counted(count, 'worker')} with the role ${role}`],
    )
  } catch {
    return []
  }
}

function nextText({ next, running, standings }: WorkerStatus, now: Instant): string {
  const busy = new Set(running.map(({ report }) => report))
  const stateOf = new Map(standings.map(({ report, state }) => [report, state]))
  const lines = reportNames.flatMap((report) => {
    if (stateOf.get(report) === 'off') return []
    if (stateOf.get(report) === 'paused' && !busy.has(report)) return [`${report}: no run until it is resumed`]
    const when = (work: WorkerStatus['next'][number]['work']) => {
      const tick = next.find((each) => each.report === report && each.work === work)
      if (tick === undefined) return undefined
      const at = fromMillis(tick.atMs)
      const inMs = millisBetween(now, at)
      return inMs <= 0 ? 'now' : `in ${duration(inMs)} (${timeText(at)})`
    }
    const run = busy.has(report) ? 'runs now' : `next run ${when('incremental') ?? 'not scheduled'}`
    const reconcile = when('reconcile')
    return [`${report}: ${run}${reconcile === undefined ? '' : `, reconcile ${reconcile}`}`]
  })
  return `${lines.join('\n')}\n`
}

function activityText({ running, waiting, queues, console, standings }: WorkerStatus): string {
  const runs = running.map(
    ({ runId, report, kind, startedAt, progress }) =>
      `${report}: ${kind} ${runId} since ${formatInstant(startedAt).slice(0, 19)}Z, ${counted(progress?.pages ?? 0, 'page')}, ${counted(progress?.rows ?? 0, 'row')}\n`,
  )
  const rows = Object.entries(queues)
    .filter(([name]) => name !== 'ticks' && name !== 'control')
    .map(([name, { waiting, active, delayed, failed }]) => [name, waiting, active, delayed, failed])
  const paused = new Set(standings.filter(({ state }) => state === 'paused').map(({ report }) => report as string))
  const untilWhen = (report: string) => (paused.has(report) ? ` until ${report} is resumed` : '')
  const waits = waiting.map(({ id, report, kind }) => `${report}: ${kind} ${id} waits${untilWhen(report)}\n`)
  const runsText = runs.length + waits.length === 0 ? '' : `${[...runs, ...waits].join('')}\n`
  const consoleText = console === undefined ? '' : `\nconsole: ${console}\n`
  return `${runsText}${table(['queue', 'waiting', 'running', 'delayed', 'failed'], rows)}${consoleText}`
}
