/** Parses YAML and finds the line of each key. Errors never quote the text, which can contain a secret. */
import { isMap, isNode, LineCounter, parseDocument, type YAMLError } from 'yaml'
import { attempt } from '../errors.ts'
import type { Path } from './problems.ts'

export function parseYaml(text: string) {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, intAsBigInt: true })
  const malformed = [...document.errors, ...document.warnings].map((error) => ({
    line: lines.linePos(error.pos[0]).line,
    problem: messageOf(error),
  }))
  if (malformed.length > 0) return { value: undefined, lineOf: () => 1, malformed }
  // Limits aliases, because nested aliases can make a short file huge in memory.
  const value = attempt(() => plain(document.toJS({ maxAliasCount: 100 })), ALIASES)
  if (value === ALIASES) return { value: undefined, lineOf: () => 1, malformed: [{ line: 1, problem: ALIASES }] }
  /** A missing key has the line of its nearest parent. */
  const lineOf = (path: Path): number => {
    if (path.length === 0) return 1
    const [parent, last] = [path.slice(0, -1), path.at(-1)]
    const section = document.getIn(parent, true)
    const pair = isMap(section) ? section.items.find(({ key }) => String(key) === String(last)) : undefined
    const node = pair?.key ?? document.getIn(path, true)
    return isNode(node) && node.range ? lines.linePos(node.range[0]).line : lineOf(parent)
  }
  return { value, lineOf, malformed: [] }
}

const ALIASES = 'an alias (*name) is not known, or aliases are nested too deeply'

/** Removes keys without a value. Integers beyond 2^53 become text. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (Array.isArray(value)) return value.map((item) => (item === null ? null : plain(item)))
  if (typeof value !== 'object' || value === null) return value ?? undefined
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([key, inner]) => [key, plain(inner)]),
  )
}

/** Returns our own message. The parser's message quotes the file, which can contain a secret. */
function messageOf(error: YAMLError): string {
  if (error.code === 'DUPLICATE_KEY') return 'a key is there twice'
  if (error.code === 'TAG_RESOLVE_FAILED' || error.code === 'BAD_COLLECTION_TYPE')
    return 'tags (!name) are not supported'
  if (error.code === 'MULTIPLE_DOCS') return 'the file contains several documents (---)'
  if (error.code === 'BAD_DQ_ESCAPE') return 'not YAML: an escape sequence in double quotes is not valid'
  const words = error.message.split(/: "|: (?=\S*$)|Block scalar header/)[0] ?? ''
  return `not YAML: ${words === '' ? 'a block header has extra characters' : words}`
}
