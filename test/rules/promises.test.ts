/** The sections of docs/PROMISES.md name tests that exist: a promise without a test is only a wish. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from './source.ts'

const PROMISES = 9
const TEST_LINK = /\]\(\.\.\/(test\/[^)]+\.test\.ts)\)((?: and)?(?: "[^"]+"(?: and)?)+)?/g

interface Named {
  readonly file: string
  readonly titles: readonly string[]
}

/** Returns the tests that a section names. */
const namedIn = (section: string): Named[] =>
  [...section.matchAll(TEST_LINK)].map(([, file = '', titles = '']) => ({
    file,
    titles: [...titles.matchAll(/"([^"]+)"/g)].map(([, title]) => title ?? ''),
  }))

function missing({ file, titles }: Named): string[] {
  const full = path.join(ROOT, file)
  if (!existsSync(full)) return [`${file} is not there: name a test that shows it.`]
  if (titles.length === 0) return [`${file}: say the title of the test that shows it, in double quotes.`]
  const text = readFileSync(full, 'utf8')
  return titles.filter((title) => !text.includes(title)).map((title) => `${file} has no test "${title}".`)
}

/** Returns whether `npm test` runs one of the tests: it is neither in a long file nor tagged, behind its title. */
const isShort = ({ file, titles }: Named): boolean =>
  !file.endsWith('.long.test.ts') &&
  titles.some((title) => {
    const [, behind = ''] = readFileSync(path.join(ROOT, file), 'utf8').split(title, 2)
    return !/^\S*,\s*\{[^}]*tags: 'long'/.test(behind)
  })

const promises = readFileSync(path.join(ROOT, 'docs/PROMISES.md'), 'utf8')
const sections = promises.split(/^### /m).slice(1)

const titleOf = (section: string) => section.split('\n', 1)[0]

describe('the promises', () => {
  it('are all nine on the page, in their order', () => {
    const expected = Array.from({ length: PROMISES }, (_, n) => String(n + 1))
    expect([...promises.matchAll(/^\| (\d) \|/gm)].map(([, number]) => number)).toEqual(expected)
    expect(sections.flatMap((section) => /^(\d)\. /.exec(section)?.[1] ?? [])).toEqual(expected)
  })

  it('each name tests that are there, by file and title', () => {
    expect(sections.filter((section) => namedIn(section).length === 0).map(titleOf)).toEqual([])
    expect(sections.flatMap(namedIn).flatMap(missing)).toEqual([])
  })

  it('each name a test that npm test runs', () => {
    expect(sections.filter((section) => !namedIn(section).some(isShort)).map(titleOf)).toEqual([])
  })

  it('have a section for each row of the tables', () => {
    const rows = [...promises.matchAll(/^\|(?: \d \|)? \[[^\]]+\]\(#/gm)]
    expect(sections).toHaveLength(rows.length)
  })

  it('the rule bites', () => {
    expect(namedIn('[x](../test/x.test.ts) "a b" and "c"; [y](../test/y.test.ts)')).toEqual([
      { file: 'test/x.test.ts', titles: ['a b', 'c'] },
      { file: 'test/y.test.ts', titles: [] },
    ])
    expect(missing({ file: 'test/rules/gone.test.ts', titles: ['x'] })).toHaveLength(1)
    const secrets = 'are in no output, file, store, table, span, page or metric after everything was run at trace'
    expect(isShort({ file: 'test/operate/secrets.test.ts', titles: [secrets] })).toBe(false)
    expect(isShort({ file: 'test/rules/promises.test.ts', titles: ['the rule bites'] })).toBe(true)
    expect(missing({ file: 'test/rules/tidy.test.ts', titles: ['a title that nobody wrote'] })).toHaveLength(1)
  })
})
