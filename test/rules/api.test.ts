/**
 * docs/api describes what `import … from 'tidemark'` has: each exported name with its comment, and nothing else. A test of
 * the project `install` makes the page again and compares all of it; this one needs no registry.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { productFiles, ROOT, sourceOf, type SourceFile } from './source.ts'

interface ApiName {
  readonly name: string
  /** The comments of the declaration and of its members. The first one is undefined if the declaration has none. */
  readonly comments: readonly (string | undefined)[]
}

const CURE = 'run "npm run docs:api"'

const page = plain(readFileSync(path.join(ROOT, 'docs/api/README.md'), 'utf8'))

/** Without line breaks, marks of Markdown and marks of comments. */
function plain(text: string): string {
  return text
    .replaceAll(/^[ \t]*\*+|@\w+|[\\`*]/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const read = (name: string): SourceFile => sourceOf(name, readFileSync(path.join(ROOT, name), 'utf8'))
const beside = (file: SourceFile, from: string): SourceFile =>
  read(path.posix.join(path.posix.dirname(file.name), from))

/** Returns all exports of a file, or the export `only`, with those that it takes from other files. */
function exportsOf(file: SourceFile, only?: string): ApiName[] {
  const found: ApiName[] = []
  const isWanted = (name: string) => only === undefined || only === name
  file.visit({
    ExportAllDeclaration: ({ source }) => void found.push(...exportsOf(beside(file, source.value), only)),
    ExportNamedDeclaration: ({ start, end, source, specifiers, declaration }) => {
      for (const { exported } of specifiers) {
        const name = 'name' in exported ? exported.name : ''
        if (source !== null && isWanted(name)) found.push(...exportsOf(beside(file, source.value), name))
      }
      if (declaration === null) return
      const names = 'declarations' in declaration ? declaration.declarations.map(({ id }) => id) : [declaration.id]
      for (const id of names)
        if (id !== null && 'name' in id && isWanted(id.name))
          found.push({ name: id.name, comments: commentsOf(file, start, end) })
    },
  })
  return found
}

function commentsOf(file: SourceFile, start: number, end: number): (string | undefined)[] {
  const docstrings = file.comments.filter(({ text }) => text.startsWith('*') && !text.includes('@internal'))
  const first = docstrings.find(({ lastLine }) => lastLine === file.lineAt(start) - 1)
  const inside = docstrings.filter(({ line, lastLine }) => line > file.lineAt(start) && lastLine < file.lineAt(end))
  return [first?.text, ...inside.map(({ text }) => text)]
}

/** A schema and the type that is inferred from it have one name. Only the type is described. */
const exported = [...Map.groupBy(exportsOf(read('src/library/index.ts')), ({ name }) => name)].map(
  ([name, all]) => all.findLast(({ comments: [first] }) => first !== undefined) ?? { name, comments: [undefined] },
)

it('each exported name has a comment', () => {
  expect(exported.length).toBeGreaterThan(40)
  expect(exported.filter(({ comments: [first] }) => first === undefined).map(({ name }) => name)).toEqual([])
})

it('docs/api has each exported name with its comments', () => {
  const missing = exported.flatMap(({ name, comments }) => [
    ...(/^[a-z]/.test(name) || page.includes(`### ${name} `) ? [] : [name]),
    ...comments.map((text) => plain(text ?? '')).filter((text) => !page.includes(text)),
  ])
  expect(missing, CURE).toEqual([])
})

it('docs/api has no other name', () => {
  const text = readFileSync(path.join(ROOT, 'docs/api/README.md'), 'utf8')
  const names = [...text.matchAll(/^### ([\w\\]+)/gm)].map(([, name = '']) => name)
  expect(names.toSorted(), CURE).toEqual(exported.map(({ name }) => name).toSorted())
})

/** What the library also does. The command line would otherwise have a second way to do it. */
const OPERATIONS = /\/operations\/(?:perform|planBackfills|readChanges|readStatus|verifyReports)\.ts$/

it('the command line performs the operations of the library through the library', () => {
  const commands = productFiles().filter(({ room }) => room === 'src/cli')
  expect(commands.length).toBeGreaterThan(40)
  const around = commands.flatMap(({ name, imports }) =>
    imports.filter(({ from, typeOnly }) => OPERATIONS.test(from) && !typeOnly).map(({ from }) => `${name}: ${from}`),
  )
  expect(around).toEqual([])
})
