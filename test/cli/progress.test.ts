/** What people see while a sync runs: lines in place, durations they can read, and nothing torn by the log. */
import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/clock.ts'
import { systemClock } from '../../src/clock.ts'
import { duration, table } from '../../src/cli/layout.ts'
import { liveProgress, progressLine } from '../../src/cli/progress.ts'
import type { Output } from '../../src/cli/shell.ts'

const ESCAPE = '\u001B'
/** Up some lines, then clear what is below. */
const REDRAW = new RegExp(`(${ESCAPE}\\[\\d+A${ESCAPE}\\[0J)`)

/** A terminal of 60 columns that understands what the progress writes: lines, going up, clearing below. */
function aTerminal(): Output & { screen: () => string[]; writes: () => number } {
  let lines: string[] = []
  let writes = 0
  const write = (text: string) => {
    writes += 1
    for (const part of text.split(REDRAW)) {
      const up = /\[(\d+)A/.exec(part)?.[1]
      if (up !== undefined) lines = lines.slice(0, lines.length - Number(up))
      else lines.push(...part.split('\n').slice(0, -1))
    }
  }
  return {
    write,
    drained: () => Promise.resolve(),
    isTerminal: true,
    columns: 60,
    screen: () => lines,
    writes: () => writes,
  }
}

/** A clock that goes only when it is moved. */
function handClock() {
  let now = 0
  let timers: { at: number; action: () => void }[] = []
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => now,
    after: (ms, action) => {
      const timer = { at: now + ms, action }
      timers.push(timer)
      return () => (timers = timers.filter((each) => each !== timer))
    },
  }
  const pass = (ms: number) => {
    now += ms
    const due = timers.filter(({ at }) => at <= now)
    timers = timers.filter(({ at }) => at > now)
    for (const { action } of due) action()
  }
  return { clock, pass }
}

const events = { report: 'events', pages: 12, rows: 6_000, rowsExpected: 18_000 } as const

describe('progress on a terminal', () => {
  it('shows pages, rows, pace and the time that is left', () => {
    expect(progressLine(events, 6_000)).toMatch(/^events +12 pages +6,000 rows +1,000 rows\/s {2}12 s left$/)
    expect(progressLine({ ...events, rowsExpected: undefined }, 6_000)).toMatch(/rows\/s$/)
    expect(progressLine(events, 6_000, 48)).toBe('events  12 pages  6,000 rows  1,000 rows/s')
    expect(progressLine(events, 6_000, 20)).toBe('events  12 pages')
  })

  it('shows the windows of a backfill, those that failed, and the time that is left', () => {
    const windows = { done: 12, failed: 1, total: 40, msLeft: 75_000 }
    const told = progressLine({ ...events, rowsExpected: undefined, windows }, 6_000)
    expect(told).toMatch(/^events +12 pages +6,000 rows {2}12 of 40 windows, 1 failed {2}1 min 15 s left$/)
    const begun = progressLine({ ...events, windows: { ...windows, failed: 0, msLeft: undefined } }, 6_000)
    expect(begun).toMatch(/12 of 40 windows$/)
  })

  it('keeps one line per running report in place, however often it changes', () => {
    const terminal = aTerminal()
    const { clock, pass } = handClock()
    using progress = liveProgress(terminal, clock)
    for (let pages = 1; pages <= 1_000; pages += 1) {
      progress.onProgress({ ...events, pages })
      progress.onProgress({ ...events, report: 'budgets', pages })
      pass(1)
    }
    pass(100)
    expect(terminal.screen()).toEqual([
      expect.stringMatching(/^events +1,000 pages/),
      expect.stringMatching(/^budgets +1,000 pages/),
    ])
    expect(terminal.writes()).toBeLessThanOrEqual(11)
    expect(terminal.screen().every((line) => line.length < 60)).toBe(true)
  })

  it('lets the log speak above the lines, and leaves a clean terminal', () => {
    const terminal = aTerminal()
    const { clock, pass } = handClock()
    const progress = liveProgress(terminal, clock)
    progress.onProgress(events)
    pass(100)
    progress.write('a warning\n')
    expect(terminal.screen()).toEqual(['a warning', expect.stringMatching(/^events /)])
    progress[Symbol.dispose]()
    progress.onProgress(events)
    pass(100)
    expect(terminal.screen()).toEqual(['a warning'])
    terminal.write('the result\n')
    progress[Symbol.dispose]()
    expect(terminal.screen(), 'a second end erases nothing').toEqual(['a warning', 'the result'])
  })
})

describe('print', () => {
  it.each([
    [40, '0 s'],
    [840, '0.8 s'],
    [42_000, '42 s'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
    [273_600_000, '3 d 4 h'],
  ])('says %i ms as %s', (ms, text) => expect(duration(ms)).toBe(text))

  it('keeps columns straight under wide characters', () => {
    const drawn = table(
      [{ head: 'town' }, { head: 'rows', align: 'right' }],
      [
        ['小野区', '12'],
        ['Lyon', '3'],
      ],
    )
    expect(drawn).toBe('town    rows\n────────────\n小野区    12\nLyon       3\n')
  })
})
