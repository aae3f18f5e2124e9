/** The order in which test files start. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { longestFirst, timesOf } from '../support/longestFirst.ts'
import { ROOT } from './source.ts'

const part = (n: number) => (file: string) => file.split(': ')[n] ?? ''

it.each(['short', 'long'] as const)('the table of %s tests in docs/TESTING.md names files that exist', (kind) => {
  const files = [...timesOf(kind).keys()]
  expect(files.length).toBeGreaterThan(5)
  expect(files.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([])
})

it('the files that take longest start first, and files of one project stay together', () => {
  const [first = '', second = ''] = timesOf('short').keys()
  const files = ['short: a', `short: ${second}`, 'long: b', `short: ${first}`, `long: ${second}`]
  expect(longestFirst(files, { project: part(0), name: part(1), kind: 'short' })).toEqual([
    `short: ${first}`,
    `short: ${second}`,
    'short: a',
    `long: ${second}`,
    'long: b',
  ])
})
