/**
 * A YAML text as a plain value, with the line that each of its keys stands on. What the parser says about malformed
 * text is passed on without the text itself, which may hold a secret that does not belong there.
 */
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type YAMLError } from 'yaml'
import type { Path } from './problems.ts'

export interface YamlFile {
  readonly value: unknown
  /** The line of the deepest part of `path` that is there, from 1. */
  lineOf(path: Path): number
  /** Of text that could not be read; then `value` is undefined. */
  readonly malformed: readonly { readonly line: number; readonly problem: string }[]
}

export function parseYaml(text: string): YamlFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const malformed = [...document.errors, ...document.warnings].map((error) => ({
    line: lines.linePos(error.pos[0]).line,
    problem: wordsOf(error),
  }))
  if (malformed.length > 0) return { value: undefined, lineOf: () => 1, malformed }
  const value = plainValueOf(document)
  if (value === ALIASES) return { value: undefined, lineOf: () => 1, malformed: [{ line: 1, problem: ALIASES }] }
  return { value, lineOf: (path) => lineIn(document, lines, path), malformed: [] }
}

const ALIASES = 'an alias (*name) is not known, or aliases are nested too deeply'

/** Aliases are followed only now; an unknown one, or a bomb of them, is refused here. */
function plainValueOf(document: Document): unknown {
  try {
    return withoutNulls(document.toJS({ maxAliasCount: 100 }))
  } catch {
    return ALIASES
  }
}

/** A key without a value is a key left out: what remains when all lines of a section are comments. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value ?? undefined
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([key, inner]) => [key, withoutNulls(inner)]),
  )
}

function lineIn(document: Document, lines: LineCounter, path: Path): number {
  let node: unknown = document.contents
  let offset = 0
  for (const step of path) {
    const found = childOf(node, step)
    if (found === undefined) break
    offset = found.offset ?? offset
    node = found.node
  }
  return lines.linePos(offset).line
}

function childOf(node: unknown, step: string | number): { node: unknown; offset: number | undefined } | undefined {
  if (isSeq(node)) {
    const item: unknown = node.items[Number(step)]
    return item === undefined ? undefined : { node: item, offset: offsetOf(item) }
  }
  if (!isMap(node)) return undefined
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
  return pair === undefined ? undefined : { node: pair.value, offset: offsetOf(pair.key) }
}

const offsetOf = (node: unknown): number | undefined => (node as { range?: readonly number[] | null }).range?.[0]

/** The parser's messages that end in a piece of the text are replaced or cut. */
function wordsOf(error: YAMLError): string {
  if (error.code === 'DUPLICATE_KEY') return 'a key is there twice'
  if (error.code === 'TAG_RESOLVE_FAILED' || error.code === 'BAD_COLLECTION_TYPE')
    return 'tags (!name) are not supported'
  if (error.code === 'MULTIPLE_DOCS') return 'the file holds several documents (---)'
  if (error.code === 'BAD_DQ_ESCAPE') return 'not YAML: an escape sequence in double quotes is not valid'
  const words = error.message.split(/: "|: (?=\S*$)|Block scalar header/)[0] ?? ''
  return `not YAML: ${words === '' ? 'a block header has extra characters' : words}`
}
