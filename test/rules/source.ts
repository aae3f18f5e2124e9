/**
 * The project's own code as the house rules see it: every file with its room, lines, imports and functions, read with a
 * real parser (the one that the test runner brings along), so that no rule rests on the look of the text.
 */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseSync, Visitor } from 'rolldown/utils'

export const ROOT = path.join(import.meta.dirname, '../..')

type VisitorObject = NonNullable<ConstructorParameters<typeof Visitor>[0]>
type Program = ReturnType<typeof parseSync>['program']

export interface Import {
  /** As written: a package, a built-in, or a relative path. */
  readonly from: string
  /** The file that a relative path means. */
  readonly file: string | undefined
  /** `import type` and `export type`: gone at run time. With `import { type A }` the module is still loaded. */
  readonly typeOnly: boolean
  readonly line: number
}

export interface FunctionSize {
  readonly line: number
  readonly lines: number
  readonly parameters: number
}

export interface Comment {
  /** Without the comment marks. */
  readonly text: string
  readonly line: number
  readonly lastLine: number
}

export interface SourceFile {
  /** From the project's folder, with `/`. */
  readonly name: string
  readonly room: string
  readonly text: string
  readonly lines: number
  readonly imports: readonly Import[]
  readonly functions: readonly FunctionSize[]
  readonly comments: readonly Comment[]
  lineAt(offset: number): number
  visit(visitor: VisitorObject): void
}

/** `**` also takes the top of the folder itself. */
const PRODUCT = ['bin/**/*.{ts,js}', 'schema/**/*.ts', 'src/**/*.{ts,js}', 'jobs/**/*.ts']
const AROUND = ['test/**/*.ts', 'bench/**/*.ts', 'tools/**/*.{ts,js}']

const namesOf = (patterns: readonly string[]): readonly string[] =>
  globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules/**'] })
    .map((name) => name.replaceAll('\\', '/'))
    .toSorted((a, b) => a.localeCompare(b))

/** What ships: bin, schema, src, jobs. */
export const productFiles = (): readonly SourceFile[] => namesOf(PRODUCT).map(readSource)

/** Tests, benches and tools. */
export const aroundFiles = (): readonly SourceFile[] => namesOf(AROUND).map(readSource)

/** `src/plan/window.ts` is in `src/plan`; files directly in `src` are the ground; `bin` only starts `src/cli`, but for the check of Node. */
export function roomOf(name: string): string {
  const [top = '', second = '', third] = name.split('/')
  if (top === 'bin') return second === 'nodeVersion.js' ? 'ground' : 'src/cli'
  if (top !== 'src') return top
  return third === undefined ? 'ground' : `src/${second}`
}

function readSource(name: string): SourceFile {
  return sourceOf(name, readFileSync(path.join(ROOT, name), 'utf8'))
}

/** Also for texts that a test makes up, to show that a rule bites. */
export function sourceOf(name: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(name, text)
  if (errors.length > 0) throw new SyntaxError(`${name}: ${errors[0]?.message}`)
  const lineAt = lineCounterOf(text)
  const visit = (visitor: VisitorObject) => new Visitor(visitor).visit(program)
  return {
    name,
    room: roomOf(name),
    text,
    lines: text.trimEnd().split('\n').length,
    imports: importsOf(program, name, lineAt),
    functions: functionsOf(program, lineAt),
    comments: comments.map(({ value, start, end }) => ({ text: value, line: lineAt(start), lastLine: lineAt(end) })),
    lineAt,
    visit,
  }
}

type LineAt = (offset: number) => number

function lineCounterOf(text: string): LineAt {
  const breaks = [...text.matchAll(/\n/g)].map(({ index }) => index)
  return (offset) => 1 + breaks.filter((at) => at < offset).length
}

function importsOf(program: Program, name: string, lineAt: LineAt): readonly Import[] {
  const found: Import[] = []
  const add = (source: { value: string; start: number } | null, typeOnly: boolean) => {
    if (source === null) return
    const from = source.value
    const file = from.startsWith('.') ? path.posix.join(path.posix.dirname(name), from) : undefined
    found.push({ from, file, typeOnly, line: lineAt(source.start) })
  }
  new Visitor({
    ImportDeclaration: (node) => add(node.source, node.importKind === 'type'),
    ExportNamedDeclaration: (node) => add(node.source, node.exportKind === 'type'),
    ExportAllDeclaration: (node) => add(node.source, node.exportKind === 'type'),
    ImportExpression: ({ source }) => {
      if (source.type === 'Literal' && typeof source.value === 'string') add({ ...source, value: source.value }, false)
    },
    TSImportType: (node) => add(node.source, true),
  }).visit(program)
  return found
}

function functionsOf(program: Program, lineAt: LineAt): readonly FunctionSize[] {
  const found: FunctionSize[] = []
  const add = (node: { start: number; end: number }, params: readonly { type: string }[]) => {
    const line = lineAt(node.start)
    found.push({ line, lines: lineAt(node.end) - line + 1, parameters: params.length })
  }
  new Visitor({
    FunctionDeclaration: (node) => add(node, node.params),
    FunctionExpression: (node) => add(node, node.params),
    ArrowFunctionExpression: (node) => add(node, node.params),
  }).visit(program)
  return found
}
