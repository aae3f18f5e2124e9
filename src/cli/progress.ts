/** Shows the progress of runs on standard error: on a terminal as redrawn lines, with `--json` as log lines. */
import { isPerRecord, type ReportName } from '../../schema/index.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Outcome, Progress } from '../operations/contract.ts'
import { counted, duration, grouped } from './layout.ts'
import type { Output } from './shell.ts'

export interface ProgressView extends Disposable {
  onProgress(progress: Progress): void
  onOutcome(outcome: Outcome): void
}

const REDRAW_MS = 100
const LOG_EVERY_MS = 5_000

/** Returns a view of the running reports. Its method `write` prints text above the progress lines. */
export function liveProgress(out: Output, clock: Clock): ProgressView & { write(text: string): void } {
  const running = new Map<ReportName, { readonly startedMs: number; readonly progress: Progress }>()
  let drawn = 0
  let hasEnded = false
  let cancelTimer: (() => void) | undefined
  const eraseText = () => (drawn === 0 ? '' : `\u001B[${drawn}A\u001B[0J`)
  const drawText = () => {
    const now = clock.monotonicMs()
    const width = out.columns - 1
    drawn = running.size
    return [...running.values()]
      .map(({ progress, startedMs }) => `${progressLine(progress, now - startedMs, width).slice(0, width)}\n`)
      .join('')
  }
  const write = (text: string) => out.write(`${eraseText()}${text}${drawText()}`)
  const scheduleDrawing = () => {
    if (hasEnded) return
    cancelTimer ??= clock.after(REDRAW_MS, () => {
      cancelTimer = undefined
      write('')
    })
  }
  return {
    write,
    onProgress: (progress) => {
      const { startedMs } = running.get(progress.report) ?? { startedMs: clock.monotonicMs() }
      running.set(progress.report, { startedMs, progress })
      scheduleDrawing()
    },
    onOutcome: ({ report }) => {
      if (running.delete(report)) scheduleDrawing()
    },
    [Symbol.dispose]: () => {
      cancelTimer?.()
      hasEnded = true
      running.clear()
      write('')
    },
  }
}

/** Returns the progress of a run as one line. Example: `events  12 pages  6,000 rows  850 rows/s`. */
export function progressLine(progress: Progress, elapsedMs: number, width = Number.POSITIVE_INFINITY): string {
  const { report, pages, rows, rowsExpected, windows } = progress
  const rate = elapsedMs < REDRAW_MS ? undefined : (rows / elapsedMs) * 1_000
  const rowsLeft = rowsExpected === undefined ? 0 : rowsExpected - rows
  const byRows = rate === undefined || rate === 0 || rowsLeft <= 0 ? undefined : (rowsLeft / rate) * 1_000
  const msLeft = windows === undefined ? byRows : windows.msLeft
  const pace = rate === undefined ? '' : `${grouped(Math.round(rate))} rows/s`
  const parts = [
    report.padEnd(22),
    counted(pages, 'page').padStart(12),
    counted(rows, 'row').padStart(15),
    (windows === undefined ? pace : windowsText(windows)).padStart(windows === undefined ? 15 : 20),
    msLeft === undefined ? '' : `${duration(msLeft)} left`,
  ]
  const whole = parts.join('  ').trimEnd()
  if (whole.length <= width) return whole
  const narrow = parts.map((part) => part.trim()).filter((part) => part !== '')
  while (narrow.length > 1 && narrow.join('  ').length > width) narrow.pop()
  return narrow.join('  ')
}

export const windowsText = ({ done, failed, total }: NonNullable<Progress['windows']>): string =>
  `${grouped(done)} of ${counted(total, 'window')}${failed === 0 ? '' : `, ${grouped(failed)} failed`}`

export const silentProgress: ProgressView = {
  onProgress: () => undefined,
  onOutcome: () => undefined,
  [Symbol.dispose]: () => undefined,
}

export const lineProgress = (out: Output): ProgressView => ({
  ...silentProgress,
  onOutcome: (outcome) => out.write(`${outcomeLine(outcome)}\n`),
})

export const NONE_DUE = 'no record was due'
export const NOTHING_ASKED = `${NONE_DUE}, so nothing was requested from the service`

/** Returns true if a run of an audit report succeeded without a request. */
export const hasAskedNothing = ({ report, state, pages }: Outcome): boolean =>
  isPerRecord(report) && state === 'done' && pages === 0

/** Returns the outcome of a run as one line. Example: `events: done, 12 pages, 6,000 rows in 7.1 s`. */
export function outcomeLine(outcome: Outcome): string {
  const { report, state, pages, figures, elapsedMs, offReason, error } = outcome
  if (state === 'off') return `${report}: off, ${offReason ?? 'not configured'}`
  if (error !== undefined) return `${report}: ${state} after ${duration(elapsedMs)}, ${error.code}`
  if (hasAskedNothing(outcome)) return `${report}: ${state}, ${NOTHING_ASKED}`
  return `${report}: ${state}, ${counted(pages, 'page')}, ${counted(figures.rows, 'row')} in ${duration(elapsedMs)}`
}

export function loggedProgress(log: Log, clock: Clock): ProgressView {
  const loggedMs = new Map<ReportName, number>()
  return {
    ...silentProgress,
    onProgress: (progress) => {
      const now = clock.monotonicMs()
      const last = loggedMs.get(progress.report)
      if (last !== undefined && now - last < LOG_EVERY_MS) return
      loggedMs.set(progress.report, now)
      log.info(progress, 'progress')
    },
    onOutcome: (outcome) => {
      const { report, runId, state, pages, figures, elapsedMs, offReason, error } = outcome
      const fields = { report, runId, state, pages, ...figures, elapsedMs: Math.round(elapsedMs), offReason }
      const failed = error && { code: error.code, cure: error.cure, error }
      log.info({ ...fields, ...failed }, outcomeLine(outcome))
    },
  }
}
