/** The worker's status as text: the next run of each report, active and waiting runs, and the depth of each queue. */
import { reportNames } from '../../schema/index.ts'
import { formatInstant, fromMillis, type Instant, millisBetween } from '../instant.ts'
import type { AnswerOf } from '../operations/contract.ts'
import { counted, duration, table, timeText } from './layout.ts'

type WorkerStatus = AnswerOf<'status'>
type NextTick = WorkerStatus['next'][number]

/** Returns when each report runs next. A paused report has no time: its ticks are skipped until it is resumed. */
export function nextText({ next, running, standings }: WorkerStatus, now: Instant): string {
  const busy = new Set(running.map(({ report }) => report))
  const stateOf = new Map(standings.map(({ report, state }) => [report, state]))
  const lines = reportNames.flatMap((report) => {
    if (stateOf.get(report) === 'off') return []
    if (stateOf.get(report) === 'paused' && !busy.has(report)) return [`${report}: no run until it is resumed`]
    const when = (work: NextTick['work']) => {
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

/** Returns the active runs, the waiting runs, and the number of jobs in each queue except the queue of ticks. */
export function activityText({ running, waiting, queues, console, standings }: WorkerStatus): string {
  const runs = running.map(
    ({ runId, report, kind, startedAt, progress }) =>
      `${report}: ${kind} ${runId} since ${formatInstant(startedAt).slice(0, 19)}Z, ${counted(progress?.pages ?? 0, 'page')}, ${counted(progress?.rows ?? 0, 'row')}\n`,
  )
  const rows = Object.entries(queues)
    .filter(([name]) => name !== 'ticks' && name !== 'control')
    .map(([name, { waiting, active, delayed, failed }]) => [name, ...[waiting, active, delayed, failed].map(String)])
  const heads = ['waiting', 'running', 'delayed', 'failed'].map((head) => ({ head, align: 'right' as const }))
  const paused = new Set(standings.filter(({ state }) => state === 'paused').map(({ report }) => report as string))
  const untilWhen = (report: string) => (paused.has(report) ? ` until ${report} is resumed` : '')
  const waits = waiting.map(({ id, report, kind }) => `${report}: ${kind} ${id} waits${untilWhen(report)}\n`)
  const runsText = runs.length + waits.length === 0 ? '' : `${[...runs, ...waits].join('')}\n`
  const consoleText = console === undefined ? '' : `\nconsole: ${console}\n`
  return `${runsText}${table([{ head: 'queue' }, ...heads], rows)}${consoleText}`
}
