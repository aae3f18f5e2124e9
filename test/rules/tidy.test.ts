/** The tidy budget (docs/STYLE.md): sizes, names and what may not be in any file. The numbers only ever go down. */
import { describe, expect, it } from 'vitest'
import { aroundFiles, productFiles, sourceOf, type SourceFile } from './source.ts'

const BUDGET = {
  fileLines: { median: 100, p90: 250, max: 400 },
  testFileLinesMax: 600,
  functionLines: { p90: 35, max: 70 },
  parametersMax: 3,
}

const product = productFiles()
const around = aroundFiles()
const all = [...product, ...around]

/** The value that this share of all values does not exceed. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

const longerThan = (files: readonly SourceFile[], max: number) =>
  files
    .filter(({ lines }) => lines > max)
    .map(({ name, lines }) => `${name} has ${lines} lines, ${max} at most: split it by what its parts are for.`)

const functionsOf = (files: readonly SourceFile[]) =>
  files.flatMap(({ name, functions }) => functions.map((each) => ({ ...each, name })))

describe('files', () => {
  it('are short', () => {
    expect(longerThan(product, BUDGET.fileLines.max)).toEqual([])
    expect(longerThan(around, BUDGET.testFileLinesMax)).toEqual([])
    const lines = product.map((file) => file.lines)
    expect(quantile(lines, 0.5), 'median lines of a file').toBeLessThanOrEqual(BUDGET.fileLines.median)
    expect(quantile(lines, 0.9), 'lines of nine files in ten').toBeLessThanOrEqual(BUDGET.fileLines.p90)
  })

  it('are named for what they hold', () => {
    const vague = all.filter(({ name }) => /(?:^|\/)(?:util|helper|common|misc)[^/]*/i.test(name))
    expect(
      vague.map(({ name }) => `${name}: name it for what it holds, or move each part to where it is used.`),
    ).toEqual([])
  })

  it('begin by saying what they are for', () => {
    const headless = all.filter(({ text }) => !/^(?:#!.*\n)?\/[*/]/.test(text))
    expect(
      headless.map(({ name }) => `${name}: begin with a comment of 1 to 5 sentences: what it is for, why it is so.`),
    ).toEqual([])
  })
})

describe('functions', () => {
  it('are short', () => {
    const long = functionsOf(product).filter(({ lines }) => lines > BUDGET.functionLines.max)
    expect(
      long.map(
        ({ name, line, lines }) => `${name}:${line} is a function of ${lines} lines, 70 at most: give its steps names.`,
      ),
    ).toEqual([])
    const lines = functionsOf(product).map((each) => each.lines)
    expect(quantile(lines, 0.9), 'lines of nine functions in ten').toBeLessThanOrEqual(BUDGET.functionLines.p90)
  })

  it('take at most three parameters', () => {
    const many = functionsOf(product).filter(({ parameters }) => parameters > BUDGET.parametersMax)
    expect(
      many.map(
        ({ name, line, parameters }) => `${name}:${line} takes ${parameters} parameters: take an options object.`,
      ),
    ).toEqual([])
  })
})

function anys(file: SourceFile): readonly string[] {
  const found: string[] = []
  file.visit({
    TSAnyKeyword: ({ start }) =>
      found.push(`${file.name}:${file.lineAt(start)} says any: say the type, or unknown and check it.`),
  })
  return found
}

function rawErrors(file: SourceFile): readonly string[] {
  const found: string[] = []
  file.visit({
    ThrowStatement: ({ argument, start }) => {
      const raw =
        argument.type === 'NewExpression' && argument.callee.type === 'Identifier' && argument.callee.name === 'Error'
      if (raw)
        found.push(
          `${file.name}:${file.lineAt(start)} throws a raw Error: throw a SyncError with a code and a cure, or assert.`,
        )
    },
  })
  return found
}

const leftovers = (file: SourceFile) =>
  file.comments
    .filter(({ text }) => /\b(?:TODO|FIXME|XXX|HACK)\b/.test(text))
    .map(({ line }) => `${file.name}:${line} leaves work for later: do it, or write it down as an issue.`)

/** Reports of one's own are registered after the modules are loaded, so such a constant does not contain them. */
function earlyLists(file: SourceFile): readonly string[] {
  const found: string[] = []
  file.visit({
    Program: ({ body }) => {
      for (const statement of body) {
        const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
        if (declared?.type !== 'VariableDeclaration') continue
        for (const { init, start, end } of declared.declarations) {
          if (init?.type === 'ArrowFunctionExpression' || init?.type === 'ObjectExpression') continue
          const isList = /(?<![\w.])(?:reportNames|reports)\s*\.\s*\w+\(/.test(file.text.slice(start, end))
          if (isList) found.push(`${file.name}:${file.lineAt(start)} lists the reports too early: make it a function.`)
        }
      }
    },
  })
  return found
}

/** Reports of one's own cannot follow records, and the description names them in words. */
const LISTS_WITHOUT_OWN = ['schema/index.ts', 'src/warehouse/books/freshness.ts', 'src/config/raw.ts']

describe('no file', () => {
  it('lists the reports before those of reports_from are known', () => {
    expect(product.filter(({ name }) => !LISTS_WITHOUT_OWN.includes(name)).flatMap(earlyLists)).toEqual([])
  })

  it('says any', () => expect(all.flatMap(anys)).toEqual([]))

  it('leaves work for later in a comment', () => expect(all.flatMap(leftovers)).toEqual([]))

  it('throws a raw Error', () => {
    expect(product.filter(({ name }) => name !== 'src/errors.ts').flatMap(rawErrors)).toEqual([])
  })
})

describe('the rules', () => {
  it('bite', () => {
    const later = ['TO', 'DO'].join('')
    const file = sourceOf('src/x.ts', `function f(a: any, b = 1, { c }, ...d) {\n  throw new Error('x') // ${later}\n}`)
    expect(anys(file)).toHaveLength(1)
    expect(earlyLists(sourceOf('src/x.ts', 'const NAMES = KINDS.flatMap(() => reportNames.map(String))'))).toHaveLength(
      1,
    )
    expect(rawErrors(file)).toHaveLength(1)
    expect(leftovers(file)).toHaveLength(1)
    expect(file.functions).toEqual([{ line: 1, lines: 3, parameters: 4 }])
  })

  it('measure the nearest rank', () => {
    expect([quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9), quantile([], 0.5)]).toEqual([
      2, 9, 0,
    ])
  })
})
