/** Writes items as tab-separated lines, so that DuckDB does not have to parse their JSON. */
import { assert } from '../errors.ts'
import { ITEM_FIELDS_MAX, NO_VALUE, ORDINAL_DIGITS, ROWS_A_PAGE } from '../plan/stagedNames.ts'
import { LETTER_N, NEWLINE, QUOTE, TAB, DIGITS_MAX, writeDigits, writePadded } from './bytes.ts'
import type { CatalogField } from './catalog.ts'
import { copySpliced, type JsonBytes, type Splice, insertedBytesMax } from './jsonBytes.ts'

/** `unsure` means that the load must check whether the ids are unique. */
export type ItemIds = 'none' | 'unique' | 'unsure'

/** Null if the item has no id. Undefined if the id is not a whole number of up to 15 digits. */
export type ItemId = number | null | undefined

const ABSENT = Buffer.from(`\t${NO_VALUE}`)
const LEAD_BYTES_MAX = ORDINAL_DIGITS + DIGITS_MAX + 3
const FIRST_BYTES = 64 * 1024
/** Up to this many identifiers, comparing in a loop is faster than using a Set. */
const COMPARED_MAX = 16
/** Up to this many bytes, copying in a loop is faster than `Buffer.copy`. */
const COPIED_MAX = 32

export class ItemFields {
  count = 0
  readonly #from = new Int32Array(ITEM_FIELDS_MAX)
  readonly #to = new Int32Array(ITEM_FIELDS_MAX)
  readonly #escaped = new Uint8Array(ITEM_FIELDS_MAX)

  begin(): void {
    for (let id = 0; id < this.count; id += 1) this.#from[id] = 0
    this.count = 0
  }

  /** A negative `end` means that the value contains escapes. */
  record(id: number, from: number, end: number): void {
    if (id >= ITEM_FIELDS_MAX || (id < this.count && this.#from[id] !== 0)) return
    this.#from[id] = from
    this.#to[id] = Math.abs(end)
    this.#escaped[id] = end < 0 ? 1 : 0
    if (id >= this.count) this.count = id + 1
  }

  from = (id: number): number => this.#from[id] as number
  to = (id: number): number => this.#to[id] as number
  isEscaped = (id: number): boolean => this.#escaped[id] === 1
}

/** The lines that a page adds to one file: its rows, or the items of one collection. */
export type PageLines = Pick<ItemLines, 'field' | 'rows' | 'ids' | 'lineBytesMax' | 'lines'>

interface Item {
  readonly row: number
  readonly position: number
  readonly from: number
  readonly to: number
  readonly fields: ItemFields
  readonly loneSurrogates: readonly Splice[]
}

const bytesOfPreviousPage = new WeakMap<CatalogField, number>()

export class ItemLines {
  readonly field: string
  lineBytesMax = 0
  rows = 0
  readonly #json: JsonBytes
  readonly #of: CatalogField
  #out: Buffer
  #end = 0
  readonly #rowOfItem: number[] = []
  readonly #lineStarts: number[] = []
  #withId = 0
  #unsure = false

  constructor(field: CatalogField, json: JsonBytes) {
    this.field = field.name
    this.#of = field
    this.#json = json
    this.#out = Buffer.allocUnsafeSlow(Math.ceil(1.25 * (bytesOfPreviousPage.get(field) ?? FIRST_BYTES)))
  }

  get ids(): ItemIds {
    if (this.#unsure) return 'unsure'
    if (this.#withId === 0) return 'none'
    return this.#withId === this.rows ? 'unique' : 'unsure'
  }

  add(item: Item): void {
    const { row, position, from, to, fields, loneSurrogates } = item
    // Each value is written twice: within the item, and as a field.
    this.#reserve(
      LEAD_BYTES_MAX + 2 * (to - from) + insertedBytesMax(loneSurrogates) * 2 + fields.count * (ABSENT.length + 1),
    )
    const { bytes } = this.#json
    const start = this.#end
    let end = start + ORDINAL_DIGITS
    const out = this.#out
    out[end] = TAB
    end = writeDigits(out, end + 1, position)
    out[end] = TAB
    end = copySpliced({ bytes, from, to }, { out, end: end + 1 }, loneSurrogates)
    for (let id = 0; id < fields.count; id += 1) end = this.#field(id, end, item)
    out[end] = NEWLINE
    this.#end = end + 1
    this.#rowOfItem.push(row)
    this.#lineStarts.push(start)
    this.rows += 1
    if (this.#end - start > this.lineBytesMax) this.lineBytesMax = this.#end - start
  }

  /** Writes a string without its quotes, unless it contains escapes. */
  #field(id: number, at: number, { fields, loneSurrogates }: Item): number {
    const out = this.#out
    const { bytes } = this.#json
    let from = fields.from(id)
    if (from === 0 || bytes[from] === LETTER_N) return at + ABSENT.copy(out, at)
    out[at] = TAB
    let to = fields.to(id)
    if (bytes[from] === QUOTE && !fields.isEscaped(id)) {
      from += 1
      to -= 1
    }
    if (loneSurrogates.length > 0) {
      const inside = loneSurrogates.filter((splice) => splice.at >= from && splice.at < to)
      return copySpliced({ bytes, from, to }, { out, end: at + 1 }, inside)
    }
    if (to - from > COPIED_MAX) return at + 1 + bytes.copy(out, at + 1, from, to)
    let end = at + 1
    for (let i = from; i < to; i += 1) out[end++] = bytes[i] as number
    return end
  }

  recordIds(ids: readonly ItemId[]): void {
    for (const id of ids) {
      if (id === undefined) this.#unsure = true
      else if (id !== null) this.#withId += 1
    }
    if (!isDistinct(ids)) this.#unsure = true
  }

  drop(row: number): void {
    while (this.rows > 0 && this.#rowOfItem.at(-1) === row) {
      this.#rowOfItem.length -= 1
      this.#end = this.#lineStarts.pop() ?? 0
      this.rows -= 1
      // `#withId` still counts the removed items, so the load must check whether the ids are unique.
      this.#unsure = true
    }
  }

  /** Returns one line per item. The caller must release the buffer. */
  lines(pageIndex: number): Buffer {
    assert(this.#end <= this.#out.length, `the items of ${this.field} were written before`)
    bytesOfPreviousPage.set(this.#of, this.#end)
    const base = pageIndex * ROWS_A_PAGE
    for (let n = 0; n < this.rows; n += 1) {
      writePadded(this.#out, this.#lineStarts[n] as number, base + (this.#rowOfItem[n] as number))
    }
    return this.#out.subarray(0, this.#end)
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#out.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#out.length * 2, this.#end + bytes))
    this.#out.copy(larger, 0, 0, this.#end)
    this.#out = larger
  }
}

function isDistinct(ids: readonly ItemId[]): boolean {
  if (ids.length > COMPARED_MAX) {
    const known = ids.filter((id) => id !== null)
    return new Set(known).size === known.length
  }
  for (let n = 1; n < ids.length; n += 1) {
    for (let m = 0; m < n; m += 1) if (ids[n] === ids[m] && ids[n] !== null) return false
  }
  return true
}
