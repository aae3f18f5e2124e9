/**
 * An events report of any size in memory. A page is a slice of its text, so that the service takes almost no processor
 * time from the measured program.
 */
import { BASE_ROWS, type BaseRows, FIRST_ID, ID_AT, ID_DIGITS } from './baseRows.ts'

const STAMP = '"aggregateRecordModified":"'
const STAMP_END = 'Z"'
const STAMP_LENGTH_MAX = '2020-01-01T00:00:00.000'.length
const ZERO = 0x30
const COMMA = Buffer.from(',')
/** For a larger report, each page is written on request. */
const KEPT_BYTES_MAX = 6_000_000_000

interface Changed {
  readonly row: number
  readonly stampMs: number
  readonly text: Buffer
}

export interface Slice {
  readonly sinceMs: number
  readonly untilMs: number
  readonly start: number
  readonly count: number
}

export class EventTable {
  readonly rows: number
  readonly #base: BaseRows
  /** Position of the modification time in each base row. */
  readonly #stampAt: Float64Array
  readonly #stampLength: Float64Array
  /** Changed rows, in the order of their modification times. */
  #changed: Changed[] = []
  readonly #isChanged: Uint8Array
  /** Each buffer has the text of `BASE_ROWS` unchanged rows. */
  readonly #kept: readonly Buffer[]
  #revision = 0

  constructor(base: BaseRows, rows: number) {
    this.rows = rows
    this.#base = base
    const { text, starts } = base
    const texts = Array.from(starts.subarray(1), (end, n) => text.subarray(starts[n], end))
    this.#stampAt = Float64Array.from(texts, (row) => row.indexOf(STAMP) + STAMP.length)
    this.#stampLength = Float64Array.from(texts, (row, n) =>
      Math.min(STAMP_LENGTH_MAX, row.indexOf(STAMP_END, this.#stampAt[n]) - (this.#stampAt[n] as number)),
    )
    this.#isChanged = new Uint8Array(rows)
    const isKept = (rows / BASE_ROWS) * text.length <= KEPT_BYTES_MAX
    const blocks = Array.from({ length: isKept ? Math.ceil(rows / BASE_ROWS) : 0 }, (_, n) => n * BASE_ROWS)
    this.#kept = blocks.map((first) => this.#written(first, Math.min(BASE_ROWS, rows - first)))
  }

  /** Returns the JSON text of one page, in pieces. */
  page({ sinceMs, untilMs, start, count }: Slice): Buffer[] {
    const first = this.#firstAt(sinceMs)
    const last = this.#firstAt(untilMs + 0.0001)
    const late = this.#changed.filter((each) => each.stampMs >= sinceMs && each.stampMs <= untilMs)
    const texts: Buffer[] = []
    const unchanged = this.#changed.length === 0 ? last - first : this.#countUnchanged(first, last)
    if (start < unchanged) texts.push(...this.#unchanged({ first, last }, start, Math.min(count, unchanged - start)))
    const from = Math.max(0, start - unchanged)
    const to = Math.max(0, start + count - unchanged)
    for (const { text } of late.slice(from, to)) texts.push(text)
    return [Buffer.from('['), ...texts.flatMap((text, n) => (n === 0 ? [text] : [COMMA, text])), Buffer.from(']')]
  }

  /** Changes `count` rows, and returns their keys. */
  change(count: number, nowMs: number): number[] {
    this.#revision += 1
    const step = Math.max(1, Math.floor(this.rows / count))
    const rows = Array.from({ length: count }, (_, n) => (n * step + this.#revision * 7) % this.rows)
    const again = new Set(rows)
    const stamp = new Date(nowMs).toISOString()
    const fresh = [...again].map((row) => ({ row, stampMs: nowMs, text: this.#changedText(row, stamp) }))
    this.#changed = [...this.#changed.filter(({ row }) => !again.has(row)), ...fresh]
    for (const row of again) this.#isChanged[row] = 1
    return [...again].map((row) => FIRST_ID + row)
  }

  #changedText(row: number, stamp: string): Buffer {
    const text = Buffer.concat(this.#baseTexts(row, 1)).toString('utf8')
    const stamped = text
      .replace(/"recordModified":"[^"]*"/, `"recordModified":"${stamp}"`)
      .replace(/"aggregateRecordModified":"[^"]*"/, `"aggregateRecordModified":"${stamp}"`)
      .replace(/"attendees":\d+/, `"attendees":${100_000 + this.#revision}`)
      .replaceAll('"revision":0', `"revision":${this.#revision}`)
    return Buffer.from(stamped)
  }

  /** `start` counts unchanged rows only. */
  #unchanged({ first, last }: { first: number; last: number }, start: number, count: number): Buffer[] {
    if (this.#changed.length === 0) return this.#baseTexts(first + start, count)
    const texts: Buffer[] = []
    let seen = 0
    for (let row = first; row < last && texts.length < count; row += 1) {
      if (this.#isChanged[row] === 1) continue
      if (seen >= start) texts.push(...this.#baseTexts(row, 1))
      seen += 1
    }
    return texts
  }

  #countUnchanged(first: number, last: number): number {
    let count = 0
    for (let row = first; row < last; row += 1) count += 1 - (this.#isChanged[row] as number)
    return count
  }

  #baseTexts(row: number, count: number): Buffer[] {
    const { starts } = this.#base
    const pieces: Buffer[] = []
    for (let at = row; at < row + count; ) {
      const base = at % BASE_ROWS
      const some = Math.min(row + count - at, BASE_ROWS - base)
      const kept = this.#kept[(at - base) / BASE_ROWS]
      pieces.push(kept?.subarray(starts[base], (starts[base + some] as number) - 1) ?? this.#written(at, some))
      at += some
    }
    return pieces
  }

  #written(row: number, count: number): Buffer {
    const { text, starts } = this.#base
    const base = row % BASE_ROWS
    const from = starts[base] as number
    const bytes = Buffer.from(text.subarray(from, (starts[base + count] as number) - 1))
    for (let n = 0; n < count; n += 1) {
      const start = (starts[base + n] as number) - from
      putId(bytes, start + ID_AT, FIRST_ID + row + n)
      const stamp = new Date(this.#stampOf(row + n)).toISOString()
      const stampAt = start + (this.#stampAt[base + n] as number)
      bytes.write(stamp, stampAt, this.#stampLength[base + n] as number, 'latin1')
    }
    return bytes
  }

  /** Rows between two base rows are evenly distributed in time. */
  #stampOf(row: number): number {
    const { stamps } = this.#base
    const place = (row / this.rows) * BASE_ROWS
    const before = Math.floor(place)
    const from = stamps[before] as number
    const to = stamps[Math.min(before + 1, BASE_ROWS - 1)] as number
    return from + (to - from) * (place - before)
  }

  /** Returns the number of the first row whose time is at or after `ms`. */
  #firstAt(ms: number): number {
    let low = 0
    let high = this.rows
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#stampOf(middle) < ms) low = middle + 1
      else high = middle
    }
    return low
  }
}

function putId(bytes: Buffer, at: number, id: number): void {
  let rest = id
  for (let digit = ID_DIGITS - 1; digit >= 0; digit -= 1) {
    bytes[at + digit] = ZERO + (rest % 10)
    rest = Math.floor(rest / 10)
  }
}
