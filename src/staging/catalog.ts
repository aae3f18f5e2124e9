/** Records the fields of a load's rows and the kinds of values in each field. */
import type { Kinds } from '../plan/kinds.ts'
import type { Declaration } from '../../schema/report.ts'
import { collectionFields } from '../../schema/tables.ts'
import { ORDINAL_FIELD, SHAPE_FIELD } from '../plan/stagedNames.ts'

/** `prune` empties a larger trie of field names. So large a number shows that names are ids, as in `{ "1001": … }`. */
const TRIE_NODES_MAX = 20_000

export interface CatalogField {
  readonly name: string
  /** The field's name in staged files. Two staged names never differ only by case, because DuckDB ignores case. */
  readonly stagedName: string
  readonly stagedNameJson: Buffer | undefined
  readonly id: number
  kinds: Kinds
  readonly elements: ObjectCatalog | undefined
  /** Collections only: the kinds of items that are not objects, such as numbers. */
  elementKinds: Kinds
}

/** A catalogue as plain values, so that another process can load the rows. */
export interface CatalogValues {
  readonly fields: readonly (Pick<CatalogField, 'name' | 'kinds' | 'elementKinds'> & {
    readonly elements?: CatalogValues
  })[]
  readonly shapes: readonly (readonly string[])[]
}

export interface TrieNode {
  readonly field: CatalogField | undefined
  /** The name with its quotes, as the service sent it. */
  readonly quoted: Buffer
  readonly repeatedField: string | undefined
  readonly parent: TrieNode | undefined
  readonly next: Map<string, TrieNode>
  /** The scan tries this node first, because most rows have the same fields. */
  likelyNext: TrieNode | undefined
  shape: number | undefined
}

const rootNode = (): TrieNode => ({
  field: undefined,
  quoted: Buffer.alloc(0),
  repeatedField: undefined,
  parent: undefined,
  next: new Map(),
  likelyNext: undefined,
  shape: undefined,
})

/** The fields of one kind of object: a report's rows, or the items of one collection. */
export class ObjectCatalog {
  readonly fields: CatalogField[] = []
  /** Objects with the same field names have the same shape. */
  readonly shapes: (readonly string[])[] = []
  root = rootNode()
  readonly #byName = new Map<string, CatalogField>()
  readonly #lowerCaseNames = new Set([ORDINAL_FIELD, SHAPE_FIELD])
  readonly #shapeNumbers = new Map<string, number>()
  readonly #collections: ReadonlySet<string>
  #nodes = 0

  constructor(collections: Iterable<string> = []) {
    this.#collections = new Set(collections)
  }

  /** Restores a catalogue from plain values. A scan must not use the restored catalogue, because it has no trie. */
  static from(values: CatalogValues): ObjectCatalog {
    const catalog = new ObjectCatalog()
    for (const { elements, ...field } of values.fields)
      Object.assign(catalog.#fieldNamed(field.name), field, { elements: elements && ObjectCatalog.from(elements) })
    catalog.shapes.push(...values.shapes)
    return catalog
  }

  toValues(): CatalogValues {
    const fields = this.fields.map(({ name, kinds, elementKinds, elements }) => {
      const field = { name, kinds, elementKinds }
      return elements === undefined ? field : { ...field, elements: elements.toValues() }
    })
    return { fields, shapes: this.shapes }
  }

  field(name: string): CatalogField | undefined {
    return this.#byName.get(name)
  }

  /** Returns the child of `from` for a name, created if needed. `text`: the name, if lone surrogates were corrected. */
  step(from: TrieNode, quoted: Buffer, text?: string): TrieNode {
    const spelling = quoted.toString('latin1')
    let node = from.next.get(spelling)
    if (node === undefined) {
      const field = this.#fieldNamed(JSON.parse(text ?? quoted.toString('utf8')) as string)
      node = { ...rootNode(), field, quoted: Buffer.from(quoted), parent: from, repeatedField: repeated(from, field) }
      from.next.set(spelling, node)
      this.#nodes += 1
    }
    // The scan does not correct a name that equals `likelyNext`, so names that need a correction are left out.
    if (text === undefined) from.likelyNext = node
    return node
  }

  shapeAt(node: TrieNode): number {
    return node.shape ?? this.#learnShape(node)
  }

  /** Empties a trie that is too large. Must not be called during a scan, which refers to nodes of the trie. */
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
      stagedNameJson: stagedName === name ? undefined : Buffer.from(JSON.stringify(stagedName)),
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
    // SQL text must not contain NUL.
    const base = name === '' ? '~' : name.replaceAll('\0', '~')
    let candidate = base
    for (let n = 2; this.#lowerCaseNames.has(candidate.toLowerCase()); n += 1) candidate = `${base}~${n}`
    this.#lowerCaseNames.add(candidate.toLowerCase())
    return candidate
  }
}

function repeated(from: TrieNode, field: CatalogField): string | undefined {
  for (let at: TrieNode | undefined = from; at?.field !== undefined; at = at.parent) {
    if (at.field === field) return field.name
  }
  return from.repeatedField
}

export const catalogOf = (report: Declaration): ObjectCatalog => new ObjectCatalog(collectionFields(report))
