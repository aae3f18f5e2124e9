/**
 * The collections of one report's rows. Until somebody edits one it is not stored: items are put together from a pool
 * of serialised bodies, chosen by hash, each with an id of its own. An edited collection is kept as the text of its
 * items.
 */
import { COLLECTIONS, draftFor, exactJson, type CollectionKind } from './collectionKinds.ts'
import { draw, hashOf } from './draw.ts'
import { PageWriter } from './pageWriter.ts'
import type { Pools } from './pools.ts'
import type { WorldReport } from './reports.ts'

const VARIANTS = 64
const COUNTS = [0, 1, 1, 2, 2, 3, 4, 5]
const COMMA = 0x2c
const ID_OPEN = Buffer.from('{"id":')
/** An item's number is its id and what its body is drawn with. */
const ITEM_NUMBERS_PER_ROW = 16
const ITEM_BYTES = 512

/** Raw text of the items; null for an object collection that has none; a string where raw text was put in whole. */
export type Content = readonly string[] | string

export interface CollectionRules {
  /** Items in every array; without it 0 to 5. */
  readonly items: number | undefined
  /** False: every collection is empty. */
  readonly filled: boolean
}

interface Pooled {
  readonly kind: CollectionKind
  readonly open: Buffer
  readonly bodies: readonly Buffer[]
  readonly purpose: number
}

export class Collections {
  readonly #pooled: readonly Pooled[]
  readonly #edited = new Map<number, Map<string, Content>>()
  readonly #seed: number
  readonly #rules: CollectionRules
  #nextItem = 9_000_001

  constructor(report: WorldReport, options: { seed: number; pools: Pools; rules: CollectionRules }) {
    this.#seed = (options.seed ^ hashOf(report)) | 0
    this.#rules = options.rules
    this.#pooled = COLLECTIONS[report].map((kind) => pooled(kind, this.#seed, options.pools))
  }

  get kinds(): readonly CollectionKind[] {
    return this.#pooled.map((each) => each.kind)
  }

  /** Writes `,"field":…` for each collection whose flag is set (spec §2: present only then). */
  write(out: PageWriter, row: number, flags: ReadonlySet<string>): void {
    const edited = this.#edited.size === 0 ? undefined : this.#edited.get(row)
    for (let i = 0; i < this.#pooled.length; i += 1) {
      const each = this.#pooled[i] as Pooled
      if (!flags.has(each.kind.flag)) continue
      out.all(each.open)
      const content = edited?.get(each.kind.field)
      if (content === undefined) this.#writePooled(out, each, row)
      else out.text(typeof content === 'string' ? content : textOf(each.kind, content))
    }
  }

  items(row: number, field: string): readonly string[] {
    const content = this.#edited.get(row)?.get(field)
    if (content !== undefined) return typeof content === 'string' ? [] : content
    const each = this.#pooledFor(field)
    return Array.from({ length: this.#count(each, row) }, (_, index) =>
      this.#item(each, row * ITEM_NUMBERS_PER_ROW + index + 1),
    )
  }

  set(row: number, field: string, content: Content): void {
    const fields = this.#edited.get(row) ?? new Map<string, Content>()
    fields.set(field, content)
    this.#edited.set(row, fields)
  }

  /** A new item for the end of a collection. */
  freshItem(field: string, drawn: number): string {
    const each = this.#pooledFor(field)
    this.#nextItem += 1
    const body = each.bodies[drawn % VARIANTS]?.toString() ?? '}'
    return each.kind.identified ? `{"id":${this.#nextItem}${body}` : body
  }

  #writePooled(out: PageWriter, each: Pooled, row: number): void {
    const count = this.#count(each, row)
    if (each.kind.kind === 'one') {
      if (count === 0) out.text('null')
      else this.#writeItem(out, each, row * ITEM_NUMBERS_PER_ROW + 1)
      return
    }
    out.byte(0x5b)
    for (let index = 0; index < count; index += 1) {
      if (index > 0) out.byte(COMMA)
      this.#writeItem(out, each, row * ITEM_NUMBERS_PER_ROW + index + 1)
    }
    out.byte(0x5d)
  }

  #writeItem(out: PageWriter, each: Pooled, number: number): void {
    if (each.kind.identified) {
      out.all(ID_OPEN)
      out.whole(number)
    }
    out.all(each.bodies[draw(this.#seed, number, each.purpose) % VARIANTS] as Buffer)
  }

  #item(each: Pooled, number: number): string {
    const out = new PageWriter(ITEM_BYTES)
    this.#writeItem(out, each, number)
    return out.finish().toString()
  }

  #count(each: Pooled, row: number): number {
    if (!this.#rules.filled) return 0
    if (this.#rules.items !== undefined)
      return each.kind.kind === 'one' ? Math.min(1, this.#rules.items) : this.#rules.items
    const drawn = draw(this.#seed, row, each.purpose)
    return each.kind.kind === 'one' ? drawn & 1 : (COUNTS[drawn & 7] as number)
  }

  #pooledFor(field: string): Pooled {
    return this.#pooled.find((each) => each.kind.field === field) ?? (this.#pooled[0] as Pooled)
  }
}

/** Bodies of items with an id go on after that id; the others are whole objects. */
function pooled(kind: CollectionKind, seed: number, pools: Pools): Pooled {
  const own = seed ^ hashOf(kind.field)
  const bodies = Array.from({ length: VARIANTS }, (_, variant) => {
    const text = exactJson({ ...kind.content(draftFor(own, variant, pools)), revision: 0 })
    return Buffer.from(kind.identified ? `,${text.slice(1)}` : text)
  })
  return { kind, open: Buffer.from(`,"${kind.field}":`), bodies, purpose: hashOf(kind.field) & 0xffff }
}

function textOf(kind: CollectionKind, items: readonly string[]): string {
  return kind.kind === 'one' ? (items[0] ?? 'null') : `[${items.join(',')}]`
}
