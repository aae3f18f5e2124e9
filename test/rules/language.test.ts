/** The language rules (docs/STYLE.md, "Language") as counts that only go down. `npm run language -- DIR` lists the findings. */
import { describe, expect, it } from 'vitest'
import {
  CURES,
  findingsByKind,
  languageOfDocument,
  languageOfSource,
  LIMITS,
  type Rule,
  type TextKind,
} from './language.ts'
import { sourceOf } from './source.ts'

const findings = findingsByKind()
const kinds = Object.keys(LIMITS) as TextKind[]
const rules = Object.keys(CURES) as Rule[]

const countOf = (kind: TextKind, rule: Rule): number => findings[kind].filter((finding) => finding.rule === rule).length

describe('language', () => {
  it.each(kinds.flatMap((kind) => rules.map((rule) => ({ kind, rule, limit: LIMITS[kind][rule] }))))(
    'of $kind: $rule, at most $limit',
    ({ kind, rule, limit }) => {
      const count = countOf(kind, rule)
      if (count < limit) console.info(`${kind}: ${rule}: ${count} now, the limit is ${limit} (test/rules/language.ts)`)
      expect(count, `npm run language -- DIR lists them; ${CURES[rule]}`).toBeLessThanOrEqual(limit)
    },
  )
})

const rulesOf = (text: string) => languageOfSource(sourceOf('src/x.ts', text)).map(({ rule, line }) => [rule, line])

const sentence = (count: number) => `${'word '.repeat(count - 1)}end.`

describe('the rules', () => {
  it('find a word across lines, and outside of code only', () => {
    expect(rulesOf('// Retried so\n// many times.\nconst told = 1')).toEqual([['words', 1]])
    expect(rulesOf('/** `told` is a column. */')).toEqual([])
  })

  it('let a process hold a lock', () => {
    expect(rulesOf('// It holds the lock.')).toEqual([])
    expect(rulesOf('// It holds rows.')).toEqual([['vague verbs', 1]])
  })

  it('count the words of a sentence, not those of a paragraph', () => {
    expect(rulesOf(`/** ${sentence(30)} W${sentence(30)} */`)).toEqual([])
    expect(rulesOf(`/** ${sentence(30)}\n * W${sentence(31)} */`)).toEqual([['long sentences', 2]])
  })

  it('want a verb at the beginning of an exported function', () => {
    expect(rulesOf('/** Reads rows. */\nexport function a() {}\nexport const b = () => 1')).toEqual([])
    expect(rulesOf('/** Rows of a page. */\nexport const a = () => 1')).toEqual([['docstrings', 1]])
    expect(rulesOf('/** The rows. */\nexport async function a() {}')).toEqual([['docstrings', 1]])
  })

  it('want nouns as names', () => {
    expect(rulesOf('interface Asked {}\ntype RunParts = 1\nclass Feed {}')).toEqual([
      ['participles', 1],
      ['participles', 2],
    ])
    expect(languageOfSource(sourceOf('src/told.ts', ''))).toHaveLength(1)
  })

  it('read a document by paragraphs, items and cells', () => {
    const document = { name: 'x.md', text: '# Told\n\n| a | so many |\n\n```\ntold\n```\n- [x](told.md)\n- told' }
    expect(languageOfDocument(document).map(({ line }) => line)).toEqual([1, 3, 9])
  })
})
