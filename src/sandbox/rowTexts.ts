/**
 * The serialised rows of one report, without collections and without the closing brace. A row is made when it is first
 * read and then lies in a large buffer; a row that was changed is kept by itself, with the raw text of its changes.
 */
import type { PageWriter } from './pageWriter.ts'
import type { RowModel } from './rows/model.ts'
import type { StampColumns } from './stamps.ts'

const CHUNK_BYTES = 16 * 1_024 * 1_024
const ROW_BYTES_MAX = 16 * 1_024

/** Raw JSON text by field; an empty text means that the row does not carry the field. */
export type RawFields = Readonly<Record<string, string>>

export class RowTexts {
  readonly #model: RowModel
  readonly #stamps: StampColumns
  readonly #heads: readonly string[]
  /** The rows that were not changed, one after the other as they were first read. */
  readonly #chunks: Buffer[] = []
  readonly #starts: Float64Array
  readonly #lengths: Uint16Array
  #end = 0
  readonly #own = new Map<number, Buffer | undefined>()
  readonly #raw = new Map<number, RawFields>()

  constructor(model: RowModel, stamps: StampColumns) {
    this.#model = model
    this.#stamps = stamps
    this.#heads = model.fields.map((field, index) => `${index === 0 ? '{' : ','}"${field}":`)
    this.#starts = new Float64Array(stamps.size)
    this.#lengths = new Uint16Array(stamps.size)
  }

  write(out: PageWriter, row: number): void {
    if (row >= this.#lengths.length || (this.#own.size > 0 && this.#own.has(row))) {
      out.all(this.#ownText(row))
      return
    }
    if (this.#lengths[row] === 0) this.#make(row)
    const start = this.#starts[row] as number
    const chunk = Math.floor(start / CHUNK_BYTES)
    const within = start - chunk * CHUNK_BYTES
    out.copy(this.#chunks[chunk] as Buffer, within, within + (this.#lengths[row] as number))
  }

  /** Makes these rows before anybody asks for them. */
  prepare(rows: readonly number[]): void {
    for (const row of rows) if (row < this.#lengths.length && this.#lengths[row] === 0) this.#make(row)
  }

  /** The row's text must be made again: a stamp or a field changed. */
  changed(row: number, fields: RawFields = {}): void {
    this.#own.set(row, undefined)
    if (Object.keys(fields).length > 0) this.#raw.set(row, { ...this.#raw.get(row), ...fields })
  }

  raw(row: number): RawFields | undefined {
    return this.#raw.size === 0 ? undefined : this.#raw.get(row)
  }

  /** A field's raw text as the row carries it now. */
  field(row: number, name: string): string | undefined {
    return this.raw(row)?.[name] ?? this.#model.raw(row, this.#stamps.of(row))[this.#model.fields.indexOf(name)]
  }

  /** The row with other raw text in some fields, without keeping it. */
  text(row: number, fields: RawFields = {}): string {
    const raw = { ...this.raw(row), ...fields }
    const parts: string[] = []
    const values = this.#model.raw(row, this.#stamps.of(row))
    this.#model.fields.forEach((field, index) => {
      const value = raw[field] ?? values[index] ?? ''
      if (value !== '') parts.push(`"${field}":${value}`)
    })
    for (const [field, value] of Object.entries(raw)) {
      if (value !== '' && !this.#model.fields.includes(field) && !this.#isPriced(field))
        parts.push(`"${field}":${value}`)
    }
    return `{${parts.join(',')}`
  }

  #ownText(row: number): Buffer {
    const known = this.#own.get(row)
    if (known !== undefined) return known
    const made = Buffer.from(this.text(row))
    this.#own.set(row, made)
    return made
  }

  /** Priced fields are written per request, after the row. */
  #isPriced(field: string): boolean {
    const priced = this.#model.priced?.(0)
    return priced !== undefined && (field === priced.field || field === 'currencyCode')
  }

  #make(row: number): void {
    if (this.#chunks.length * CHUNK_BYTES - this.#end < ROW_BYTES_MAX) {
      this.#end = this.#chunks.length * CHUNK_BYTES
      this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES))
    }
    const within = this.#end % CHUNK_BYTES
    const text = rowText(this.#heads, this.#model.raw(row, this.#stamps.of(row)))
    const length = (this.#chunks.at(-1) as Buffer).write(text, within, 'utf8')
    this.#starts[row] = this.#end
    this.#lengths[row] = length
    this.#end += length
  }
}

function rowText(heads: readonly string[], values: readonly string[]): string {
  let text = ''
  for (let i = 0; i < heads.length; i += 1) {
    const value = values[i] as string
    if (value !== '') text += (heads[i] as string) + value
  }
  return text
}
