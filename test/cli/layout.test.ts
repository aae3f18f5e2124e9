/** Tables on terminals of every width: no line is longer than the terminal, and no word is cut. */
import { stripVTControlCharacters } from 'node:util'
import { array, assert, integer, property, stringMatching, tuple } from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { type Column, problemsText, table } from '../../src/cli/layout.ts'

const COLUMNS: readonly Column[] = [
  { head: 'report' },
  { head: 'state' },
  { head: 'rows', align: 'right' },
  { head: 'last run', narrow: 'hide' },
  { head: 'deleted', align: 'right', narrow: 'hide zeros' },
  { head: 'rejected', align: 'right', narrow: 'hide zeros' },
]
const ROWS = [
  ['events', 'done', '1,200', '2026-01-31T06:00:00Z', '0', '3'],
  ['budgets', 'never run', '', '', '0', '0'],
]
const head = (width?: number): string => table(COLUMNS, ROWS, width).split('\n')[0] ?? ''

const words = (text: string) => text.split(/\s+/)

const failureOf = (report: string, what: string) => ({
  report,
  state: 'failed',
  error: { code: 'SERVICE_UNREACHABLE' as const, message: `${report}: ${what}`, cure: 'Look.' },
})

it('problems with the same text become one, with the names of all reports', () => {
  const outcomes: Parameters<typeof problemsText>[0] = [
    failureOf('a', 'no answer'),
    failureOf('b', 'too late'),
    failureOf('c', 'no answer'),
    { report: 'd', state: 'done' },
  ]
  expect(problemsText(outcomes)).toBe(
    `a, c failed: no answer (SERVICE_UNREACHABLE)
  what to do: Look.
b failed: too late (SERVICE_UNREACHABLE)
  what to do: Look.
`,
  )
})

describe('a table', () => {
  it('has all columns where there is room', () => {
    expect(head()).toBe('report   state       rows  last run              deleted  rejected')
    expect(head(68)).toBe(head())
  })

  it('colours the states on a terminal, also in the narrow form, and changes no width', () => {
    vi.stubEnv('FORCE_COLOR', '1')
    vi.stubEnv('NO_COLOR', undefined)
    const drawn = [table(COLUMNS, ROWS), table(COLUMNS, ROWS, 24)]
    vi.unstubAllEnvs()
    for (const text of drawn) expect(text).toContain('\u001B[32mdone\u001B[39m')
    const plain = drawn.map((text) => stripVTControlCharacters(text))
    expect(plain).toEqual([table(COLUMNS, ROWS), table(COLUMNS, ROWS, 24)])
  })

  it('hides zeros and then what is least important, and never a number of rejected rows', () => {
    expect(head(58)).toBe('report   state       rows  last run              rejected')
    expect(head(40)).toBe('report   state       rows  rejected')
  })

  it('becomes one line for each value where even these columns are too wide', () => {
    expect(table(COLUMNS, ROWS, 24)).toBe(`report    events
state     done
rows      1,200
rejected  3

report    budgets
state     never run
rejected  0
`)
  })

  it('breaks long values between words, and cuts no word', () => {
    const columns = [{ head: 'check' }, { head: 'found' }]
    const drawn = table(columns, [['clock', 'the clock of this machine is 3 s ahead']], 26)
    expect(drawn).toBe(`check  clock
found  the clock of this
       machine is 3 s
       ahead
`)
  })

  it('has no line beyond the width, and every word of every row but of hidden columns', () => {
    const word = stringMatching(/^[a-z0-9]{1,8}$/)
    const cell = array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '))
    const rows = array(tuple(cell, cell, cell), { minLength: 1, maxLength: 4 })
    assert(
      property(rows, integer({ min: 17, max: 90 }), (given, width) => {
        const drawn = table([{ head: 'a' }, { head: 'state' }, { head: 'b' }], given, width)
        for (const text of drawn.split('\n')) expect(text.length).toBeLessThanOrEqual(width)
        for (const each of given.flat().flatMap(words)) expect(words(drawn)).toContain(each)
      }),
    )
  })
})
