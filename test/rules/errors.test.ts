/** docs/ERRORS.md describes exactly the codes that exist, and every code that exists is used. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { errorCodes } from '../../src/errors.ts'
import { productFiles, ROOT } from './source.ts'

interface Section {
  readonly heading: string
  readonly body: string
}

const text = await readFile(path.join(ROOT, 'docs/ERRORS.md'), 'utf8')

const sections: readonly Section[] = text
  .split(/^## /m)
  .slice(1)
  .map((section) => ({ heading: section.split('\n', 1)[0]?.trim() ?? '', body: section }))

/** In code a code is always quoted; the table of codes itself is not. */
const used = productFiles()
  .map((file) => file.text)
  .join('\n')

describe('docs/ERRORS.md', () => {
  it('describes exactly the codes that exist, in their order', () => {
    expect(sections.map(({ heading }) => heading)).toEqual(errorCodes)
  })

  it.each(sections)('says what happened and what to do: $heading', ({ body }) => {
    expect(body).toMatch(/^\*\*What happened\.\*\* \S.{20}/m)
    expect(body).toMatch(/^\*\*What to do\.\*\* \S.{20}/m)
  })
})

describe('codes', () => {
  it('are all used', () => {
    const unused = errorCodes.filter((code) => !used.includes(`'${code}'`))
    expect(
      unused.map((code) => `${code} is never thrown: remove it from src/errors.ts and docs/ERRORS.md, or throw it.`),
    ).toEqual([])
  })
})
