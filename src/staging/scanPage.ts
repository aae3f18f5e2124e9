/** Scans the bytes of a page without creating a JavaScript object for each row. */
import { isUtf8 } from 'node:buffer'
import { CLOSE_ARRAY, CLOSE_OBJECT, LETTER_N, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './bytes.ts'
import type { CatalogField, ObjectCatalog, TrieNode } from './catalog.ts'
import { ItemLines, type PageLines, ItemFields, type ItemId } from './itemLines.ts'
import { digestOf } from './digest.ts'
import { JsonBytes, ONE_BACKSLASH, type Splice } from './jsonBytes.ts'
import { Kind, has } from '../plan/kinds.ts'
import { CHILD_ID_FIELD } from '../plan/stagedNames.ts'
import { RowLines } from './rowLines.ts'
import { textKind } from './textKind.ts'
import { PAGES, type PageNames } from '../../schema/report.ts'

/** A row's key: a number for an integer of up to 15 digits, also if it was sent as text, otherwise JSON text. */
export type RowKey = number | string

/** Returns the key as its column contains it. */
export const keyText = (key: RowKey): string =>
  typeof key === 'string' && key.startsWith('"') ? (JSON.parse(key) as string) : String(key)

export interface ScanPlan {
  readonly answer: 'envelope' | 'array'
  readonly pages?: PageNames
  /** The key fields that rows contain. The requested currency is not in the rows. */
  readonly key: readonly string[]
  readonly deletedFlag?: string | undefined
  readonly catalog: ObjectCatalog
  /** Random prefix of numbers that are staged as text. */
  readonly numberPrefix: string
}

export interface Envelope {
  readonly pageNumber?: number
  readonly pageSize?: number
  readonly totalCount?: number
}

export interface RejectedRow {
  readonly row: number
  readonly reason: string
  readonly text: string
  /** The key proves that the service has the row, although the row is rejected. */
  readonly key?: RowKey | undefined
}

export interface ScannedPage {
  readonly envelope: Envelope
  readonly rowCount: number
  readonly keys: readonly RowKey[]
  readonly unflagged: readonly RowKey[]
  readonly rejected: readonly RejectedRow[]
  readonly stagedRows: number
  readonly rowBytesMax: number
  readonly collections: readonly PageLines[]
  /** Returns one line per row. The caller must release the buffer. */
  lines(pageIndex: number): Buffer
}

export const EMPTY_PAGE: ScannedPage = {
  envelope: {},
  rowCount: 0,
  keys: [],
  unflagged: [],
  rejected: [],
  stagedRows: 0,
  rowBytesMax: 0,
  collections: [],
  lines: () => Buffer.alloc(0),
}

export function scanPage(bytes: Buffer, plan: ScanPlan): ScannedPage {
  const slices = slicesOf(bytes, plan)
  let slice = slices.next()
  while (slice.done !== true) slice = slices.next()
  return slice.value
}

/** Scans change the catalogue, so each scan waits for the previous one. */
const lastScans = new WeakMap<ObjectCatalog, Promise<unknown>>()

/** Scans a page in slices, so that a large page does not delay timers or lease renewals. Throws `MalformedJson`. */
export function scanInSlices(bytes: Buffer, plan: ScanPlan, nextTurn: () => Promise<void>): Promise<ScannedPage> {
  const before = lastScans.get(plan.catalog) ?? Promise.resolve()
  const scan = before.then(async () => {
    const slices = slicesOf(bytes, plan)
    let slice = slices.next()
    for (; slice.done !== true; slice = slices.next()) await nextTurn()
    return slice.value
  })
  lastScans.set(
    plan.catalog,
    scan.catch(() => undefined),
  )
  return scan
}

function slicesOf(bytes: Buffer, plan: ScanPlan): Generator<void, ScannedPage> {
  return new PageScan(isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('utf8')), plan).run()
}

/** The same row may be sent with a number as its key once, and with the number as text another time. */
const keyIn = (json: string): RowKey => (/^"(?:0|-?[1-9]\d{0,14})"$/.test(json) ? Number(json.slice(1, -1)) : json)
const keyOf = (values: readonly RowKey[]): RowKey =>
  values.length === 1 ? (values[0] as RowKey) : JSON.stringify(values.map(String).toSorted((a, b) => (a < b ? -1 : 1)))
/** Bytes that are scanned without a pause, in two to five milliseconds. Other work of the process runs in between. */
const SLICE_BYTES = 256 * 1024

const NO_SPLICES: readonly Splice[] = []
const isLoneSurrogate = ({ insert }: Splice): boolean => insert === ONE_BACKSLASH

class PageScan {
  readonly #json: JsonBytes
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #plan: ScanPlan
  readonly #rowLines: RowLines
  readonly #itemLines: (ItemLines | undefined)[] = []
  readonly #keys: RowKey[] = []
  readonly #unflagged: RowKey[] = []
  readonly #rejected: RejectedRow[] = []
  readonly #envelope: { -readonly [K in keyof Envelope]: Envelope[K] } = {}
  #rows = 0
  /** Whether rows of a shape have the deletion flag. */
  readonly #isShapeFlagged: (boolean | undefined)[] = []
  readonly #isKeyField: (boolean | undefined)[] = []
  /** The trie node of the last field in the latest object. */
  #lastNode!: TrieNode
  #itemPosition = 0
  #itemIds: ItemId[] = []
  #itemId: ItemId = null
  readonly #itemFields = new ItemFields()
  readonly #surrogatesInItems: Splice[] = []

  constructor(bytes: Buffer, plan: ScanPlan) {
    this.#json = new JsonBytes(bytes, plan.numberPrefix)
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#plan = plan
    this.#rowLines = new RowLines(this.#json)
  }

  *run(): Generator<void, ScannedPage> {
    const { catalog, answer } = this.#plan
    catalog.prune()
    const first = this.#json.skipSpace(0)
    const end = yield* answer === 'array' ? this.#arrayOfRows(first) : this.#envelopeAt(first)
    const rest = this.#json.skipSpace(end)
    if (rest !== this.#bytes.length) throw this.#json.malformed(rest, 'nothing behind the JSON value')
    const lines = this.#rowLines
    return {
      envelope: this.#envelope,
      rowCount: this.#rows,
      keys: this.#keys,
      unflagged: this.#plan.deletedFlag === undefined ? this.#keys : this.#unflagged,
      rejected: this.#rejected,
      stagedRows: lines.rows,
      rowBytesMax: lines.rowBytesMax,
      collections: this.#itemLines.filter((each) => each !== undefined).filter(({ rows }) => rows > 0),
      lines: (pageIndex) => lines.write(pageIndex),
    }
  }

  *#envelopeAt(at: number): Generator<void, number> {
    const json = this.#json
    if (this.#bytes[at] !== OPEN_OBJECT) throw json.malformed(at, 'a page envelope')
    let hasItems = false
    let nullItems: number | undefined
    let i = json.skipSpace(at + 1)
    while (this.#bytes[i] !== CLOSE_OBJECT) {
      const nameEnd = json.string(i)
      const name = this.#bytes.toString('latin1', i + 1, nameEnd - 1)
      i = json.colon(nameEnd)
      if (name === (this.#plan.pages ?? PAGES).items) {
        hasItems = true
        if (this.#bytes[i] === LETTER_N) nullItems = i
        i = nullItems === i ? json.value(i) : yield* this.#arrayOfRows(i)
      } else i = this.#envelopeField(name, i)
      i = json.next(i, CLOSE_OBJECT, 'the envelope')
    }
    if (!hasItems) throw json.malformed(at, 'an envelope with items')
    // Without a total, null instead of rows can mean that the service failed.
    if (nullItems !== undefined && this.#envelope.totalCount === undefined)
      throw json.malformed(nullItems, 'an array of rows')
    return i + 1
  }

  #envelopeField(name: string, at: number): number {
    const spliced = this.#json.splices.length
    const end = this.#json.value(at)
    // Values of the envelope are not staged.
    this.#json.dropSplices(spliced)
    const isCount = has(this.#json.kind, Kind.integer) && this.#json.whole >= 0
    if (isCount) {
      const { number, size, total } = this.#plan.pages ?? PAGES
      if (name === number) this.#envelope.pageNumber = this.#json.whole
      if (name === size) this.#envelope.pageSize = this.#json.whole
      if (name === total) this.#envelope.totalCount = this.#json.whole
    }
    return end
  }

  *#arrayOfRows(at: number): Generator<void, number> {
    const json = this.#json
    let sliceEnd = at + SLICE_BYTES
    if (this.#bytes[at] !== OPEN_ARRAY) throw json.malformed(at, 'an array of rows')
    let i = json.skipSpace(at + 1)
    while (this.#bytes[i] !== CLOSE_ARRAY) {
      i = json.next(this.#row(i), CLOSE_ARRAY, 'the rows')
      this.#rows += 1
      if (i > sliceEnd) {
        sliceEnd = i + SLICE_BYTES
        yield
      }
    }
    return i + 1
  }

  #row(at: number): number {
    const spliced = this.#json.splices.length
    if (this.#surrogatesInItems.length > 0) this.#surrogatesInItems.length = 0
    if (this.#bytes[at] !== OPEN_OBJECT) {
      const end = this.#json.value(at)
      this.#reject('the row is no object', { from: at, to: end, spliced })
      return end
    }
    const { catalog, key } = this.#plan
    const keyValues: RowKey[] = []
    const end = this.#members(at, catalog, keyValues)
    const node = this.#lastNode
    const missing = keyValues.length < key.length ? `no key: ${key.join(', ')} is missing or null` : undefined
    const reason = node.repeatedField === undefined ? missing : `the field ${node.repeatedField} is there twice`
    const rowKey = key.length === 0 || keyValues.length !== key.length ? undefined : keyOf(keyValues)
    const shape = catalog.shapeAt(node)
    if (rowKey !== undefined) this.#keys.push(rowKey)
    if (rowKey !== undefined && !this.#isFlagged(shape)) this.#unflagged.push(rowKey)
    if (reason !== undefined) {
      this.#reject(reason, { from: at, to: end, spliced, key: rowKey })
      return end
    }
    this.#rowLines.add({ from: at, to: end, shape, firstSplice: spliced })
    return end
  }

  #isFlagged(shape: number): boolean {
    const { deletedFlag, catalog } = this.#plan
    return (this.#isShapeFlagged[shape] ??=
      deletedFlag === undefined || catalog.shapes[shape]?.includes(deletedFlag) === true)
  }

  /** Scans a row and adds its key to `keyValues`, or scans an item of a collection if `keyValues` is undefined. */
  #members(at: number, catalog: ObjectCatalog, keyValues: RowKey[] | undefined): number {
    const json = this.#json
    const bytes = this.#bytes
    let node = catalog.root
    let nameEnd = 0
    let spliced = 0
    let i = json.skipSpace(at + 1)
    while (bytes[i] !== CLOSE_OBJECT) {
      const likely: TrieNode | undefined = node.likelyNext
      if (likely !== undefined && startsWith(bytes, i, likely.quoted)) {
        node = likely
        nameEnd = i + likely.quoted.length
      } else {
        spliced = json.splices.length
        nameEnd = json.string(i)
        const text = json.splices.length === spliced ? undefined : json.textOf(i, nameEnd, json.splices.slice(spliced))
        node = catalog.step(node, bytes.subarray(i, nameEnd), text)
      }
      const field = node.field as CatalogField
      if (keyValues !== undefined && field.stagedNameJson !== undefined) {
        if (node !== likely) json.dropSplices(spliced)
        json.splices.push({ at: i, remove: nameEnd - i, insert: field.stagedNameJson })
      }
      i = json.next(this.#member(field, nameEnd, keyValues), CLOSE_OBJECT, 'a row')
    }
    this.#lastNode = node
    return i + 1
  }

  #member(field: CatalogField, nameEnd: number, keyValues: RowKey[] | undefined): number {
    const json = this.#json
    const at = json.colon(nameEnd)
    const escapesBefore = json.escapeCount
    let end: number
    if (this.#bytes[at] === QUOTE) {
      end = json.string(at)
      json.kind = textKind(this.#bytes, at, end)
    } else end = field.elements === undefined ? json.value(at, 1) : this.#collection(field, field.elements, at)
    field.kinds |= json.kind
    if (keyValues === undefined) this.#itemFields.record(field.id, at, json.escapeCount === escapesBefore ? end : -end)
    if (json.kind !== Kind.null && (keyValues === undefined ? field.name === CHILD_ID_FIELD : this.#isKey(field))) {
      const whole = Number.isNaN(json.whole) || !has(json.kind, Kind.integer) ? undefined : json.whole
      if (keyValues === undefined) this.#itemId = whole
      else keyValues.push(this.#keyPart(field.name, whole ?? keyIn(this.#bytes.toString('utf8', at, end))))
    }
    return end
  }

  /** With the name of its field in a key of several fields, because rows may have these fields in different orders. */
  #keyPart(name: string, value: RowKey): RowKey {
    return this.#plan.key.length === 1 ? value : `${name}: ${value}`
  }

  #isKey({ id, name }: CatalogField): boolean {
    return (this.#isKeyField[id] ??= this.#plan.key.includes(name))
  }

  /** Moves the items to lines of their own and leaves a digest in the row. */
  #collection(field: CatalogField, elements: ObjectCatalog, at: number): number {
    const json = this.#json
    const opening = this.#bytes[at]
    if (opening !== OPEN_OBJECT && opening !== OPEN_ARRAY) return json.value(at, 1)
    const spliced = json.splices.length
    this.#itemPosition = 0
    this.#itemIds = []
    const end = opening === OPEN_OBJECT ? this.#item(field, elements, at) : this.#arrayOfItems(field, elements, at)
    json.dropSplices(spliced)
    if (this.#itemPosition > 0) {
      this.#itemLines[field.id]?.recordIds(this.#itemIds)
      json.splices.push({ at, remove: end - at, insert: digestOf(this.#view, at, end) })
    }
    json.kind = opening === OPEN_OBJECT ? Kind.object : Kind.array
    return end
  }

  #arrayOfItems(field: CatalogField, elements: ObjectCatalog, at: number): number {
    const json = this.#json
    let i = json.skipSpace(at + 1)
    while (this.#bytes[i] !== CLOSE_ARRAY) {
      i = json.next(this.#item(field, elements, i), CLOSE_ARRAY, 'a collection')
    }
    return i + 1
  }

  #item(field: CatalogField, elements: ObjectCatalog, at: number): number {
    const json = this.#json
    const spliced = json.splices.length
    this.#itemId = null
    this.#itemFields.begin()
    let end: number
    if (this.#bytes[at] === OPEN_OBJECT) end = this.#members(at, elements, undefined)
    else {
      end = json.value(at, 2)
      field.elementKinds |= json.kind
    }
    const loneSurrogates =
      json.splices.length === spliced ? NO_SPLICES : json.splices.splice(spliced).filter(isLoneSurrogate)
    this.#surrogatesInItems.push(...loneSurrogates)
    const item = {
      row: this.#rowLines.rows,
      position: this.#itemPosition,
      from: at,
      to: end,
      fields: this.#itemFields,
      loneSurrogates,
    }
    const lines = (this.#itemLines[field.id] ??= new ItemLines(field, json))
    lines.add(item)
    this.#itemPosition += 1
    this.#itemIds.push(this.#itemId)
    return end
  }

  #reject(
    reason: string,
    { from, to, spliced, key }: { from: number; to: number; spliced: number; key?: RowKey | undefined },
  ): void {
    const json = this.#json
    const splices = [...json.splices.slice(spliced), ...this.#surrogatesInItems]
    this.#rejected.push({ row: this.#rows, reason, text: json.textOf(from, to, splices), key })
    json.dropSplices(spliced)
    for (const collection of this.#itemLines) collection?.drop(this.#rowLines.rows)
  }
}

function startsWith(bytes: Buffer, at: number, expected: Buffer): boolean {
  for (let k = 0; k < expected.length; k += 1) if (bytes[at + k] !== expected[k]) return false
  return true
}
