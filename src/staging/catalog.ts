/**
 * The catalogue of what a load's rows look like: which fields, of which kinds, in which shapes. A shape is the set of
 * fields that a row carries; it tells an absent field (unknown, keeps its value) from a null (product contract §4).
 * Field names are held in a trie that follows the order in which rows send them, so that a row which looks like the
 * one before it costs one byte comparison a field.
 */
import type { Kinds } from '../plan/kinds.ts'

/** Object shapes that a trie may hold; beyond, it starts afresh (keys that are data, such as a map by identifier). */
const TRIE_NODES_MAX = 20_000

export interface CatalogField {
  readonly name: string
  /** The name in the staged file: unique without regard to case, since DuckDB's column names are. */
  readonly stagedName: string
  /** How the name is written in the staged file, when it isn't as sent. */
  readonly respelled: Buffer | undefined
  readonly id: number
  kinds: Kinds
  /** What the elements of a collection hold; only for declared collections. */
  readonly elements: ObjectCatalog | undefined
  /** Kinds of a collection's elements that are no objects. */
  elementKinds: Kinds
}

/** A catalogue as plain values, for a load in another process; fields in the order in which they were met. */
export interface CatalogText {
  readonly fields: readonly {
    readonly name: string
    readonly kinds: Kinds
    readonly elementKinds: Kinds
    readonly elements?: CatalogText
  }[]
  readonly shapes: readonly (readonly string[])[]
}

export interface TrieNode {
  readonly field: CatalogField | undefined
  /** The field's name as sent, with both quotes. */
  readonly quoted: Buffer
  /** Set where the same field stands twice on the way here. */
  readonly twice: string | undefined
  readonly parent: TrieNode | undefined
  readonly next: Map<string, TrieNode>
  /** The child taken last: most likely the next one too. */
  likely: TrieNode | undefined
  shape: number | undefined
}

const rootNode = (): TrieNode => ({
  field: undefined,
  quoted: Buffer.alloc(0),
  twice: undefined,
  parent: undefined,
  next: new Map(),
  likely: undefined,
  shape: undefined,
})

/** The fields of one kind of object: a report's rows, or the elements of one collection. */
export class ObjectCatalog {
  readonly fields: CatalogField[] = []
  /** Shape number → names of the fields that such an object carries. */
  readonly shapes: (readonly string[])[] = []
  root = rootNode()
  readonly #byName = new Map<string, CatalogField>()
  readonly #reservedNames: readonly string[]
  readonly #stagedNames: Set<string>
  readonly #shapeNumbers = new Map<string, number>()
  readonly #collections: ReadonlySet<string>
  #nodes = 0

  constructor(collections: Iterable<string> = [], reservedNames: Iterable<string> = []) {
    this.#collections = new Set(collections)
    this.#reservedNames = [...reservedNames]
    this.#stagedNames = new Set(this.#reservedNames)
  }

  /**
   * The catalogue that `toText` gave: the same fields, staged names and shape numbers. It is for loading, not for
   * scanning on.
   */
  static from(told: CatalogText, collections: Iterable<string>, reservedNames: Iterable<string>): ObjectCatalog {
    const catalog = new ObjectCatalog(collections, reservedNames)
    for (const { name, kinds, elementKinds, elements } of told.fields) {
      const field = catalog.#fieldNamed(name)
      const restored = elements === undefined ? undefined : ObjectCatalog.from(elements, [], [])
      Object.assign(field, { kinds, elementKinds, elements: restored })
    }
    catalog.shapes.push(...told.shapes)
    return catalog
  }

  toText(): CatalogText {
    const fields = this.fields.map(({ name, kinds, elementKinds, elements }) => ({
      name,
      kinds,
      elementKinds,
      ...(elements === undefined ? {} : { elements: elements.toText() }),
    }))
    return { fields, shapes: this.shapes }
  }

  /** As it is now: objects that are scanned from here on change nothing of it. */
  snapshot(): ObjectCatalog {
    return ObjectCatalog.from(this.toText(), this.#collections, this.#reservedNames)
  }

  /** The field of that name, if an object was seen to carry it. */
  field(name: string): CatalogField | undefined {
    return this.#byName.get(name)
  }

  /** The node for `quoted` (the name's bytes with its quotes) after `from`; learns it when it is new. */
  step(from: TrieNode, quoted: Buffer): TrieNode {
    const spelling = quoted.toString('latin1')
    let node = from.next.get(spelling)
    if (node === undefined) {
      const field = this.#fieldNamed(nameFrom(quoted.toString('utf8')))
      node = { ...rootNode(), field, quoted: Buffer.from(quoted), parent: from, twice: fieldTwice(from, field) }
      from.next.set(spelling, node)
      this.#nodes += 1
    }
    // A name with half a pair is spliced each time that it comes, so it must not be passed over by its bytes alone.
    if (!/\\u[dD]/.test(spelling)) from.likely = node
    return node
  }

  /** The number of the shape that ends at `node`: the same for the same set of fields, in whatever order. */
  shapeAt(node: TrieNode): number {
    return node.shape ?? this.#learnShape(node)
  }

  /** Called between pages: drops a trie that has grown too large; fields, kinds and shapes stay. */
  prune(): void {
    if (this.#nodes > TRIE_NODES_MAX) {
      this.root = rootNode()
      this.#nodes = 0
    }
    for (const field of this.fields) field.elements?.prune()
  }

  #learnShape(node: TrieNode): number {
    const ids = new Set<number>()
    for (let at: TrieNode | undefined = node; at?.field !== undefined; at = at.parent) ids.add(at.field.id)
    const sorted = [...ids].sort((a, b) => a - b)
    const known = this.#shapeNumbers.get(sorted.join())
    const shape = known ?? this.shapes.push(sorted.map((id) => this.fields[id]?.name ?? '')) - 1
    this.#shapeNumbers.set(sorted.join(), shape)
    node.shape = shape
    return shape
  }

  #fieldNamed(name: string): CatalogField {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const stagedName = this.#freeName(name)
    const field: CatalogField = {
      name,
      stagedName,
      respelled: stagedName === name ? undefined : Buffer.from(JSON.stringify(stagedName)),
      id: this.fields.length,
      kinds: 0,
      elements: this.#collections.has(name) ? new ObjectCatalog() : undefined,
      elementKinds: 0,
    }
    this.fields.push(field)
    this.#byName.set(name, field)
    return field
  }

  #freeName(name: string): string {
    // No statement can hold a NUL.
    const base = name === '' ? '~' : name.replaceAll('\0', '~')
    let candidate = base
    for (let n = 2; this.#stagedNames.has(candidate.toLowerCase()); n += 1) candidate = `${base}~${n}`
    this.#stagedNames.add(candidate.toLowerCase())
    return candidate
  }
}

const PAIRS_AND_HALVES = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?<half>u[dD][89a-fA-F]..)|.)/g

/** The name behind its JSON text. Half a surrogate pair is no character: it stays the six characters of its escape. */
function nameFrom(quoted: string): string {
  const name = JSON.parse(quoted) as string
  if (name.isWellFormed()) return name
  const spliced = quoted.replace(PAIRS_AND_HALVES, (escape, half: string | undefined) =>
    half === undefined ? escape : `\\${escape}`,
  )
  return JSON.parse(spliced) as string
}

function fieldTwice(from: TrieNode, field: CatalogField): string | undefined {
  for (let at: TrieNode | undefined = from; at?.field !== undefined; at = at.parent) {
    if (at.field === field) return field.name
  }
  return from.twice
}
