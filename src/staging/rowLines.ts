/** Writes a page's rows as lines that DuckDB reads. */
import { ORDINAL_FIELD, ROWS_A_PAGE, SHAPE_FIELD } from '../plan/stagedNames.ts'
import { CLOSE_OBJECT, COMMA, NEWLINE, DIGITS_MAX, writeDigits } from './bytes.ts'
import { copySpliced, type JsonBytes, type Splice, insertedBytesMax } from './jsonBytes.ts'

export interface StagedRow {
  readonly from: number
  readonly to: number
  readonly shape: number
  readonly firstSplice: number
}

const ORDINAL_LEAD = Buffer.from(`{"${ORDINAL_FIELD}":`)
const SHAPE_LEAD = Buffer.from(`,"${SHAPE_FIELD}":`)
const LEAD_BYTES_MAX = ORDINAL_LEAD.length + SHAPE_LEAD.length + 2 * DIGITS_MAX + 2

const addedBy = (splice: Splice): number => insertedBytesMax([splice]) - splice.remove

export class RowLines {
  rowBytesMax = 0
  readonly #json: JsonBytes
  readonly #rows: StagedRow[] = []
  #bytes = 0

  constructor(json: JsonBytes) {
    this.#json = json
  }

  get rows(): number {
    return this.#rows.length
  }

  add(row: StagedRow): void {
    this.#rows.push(row)
    this.#bytes += row.to - row.from
    let length = LEAD_BYTES_MAX + row.to - row.from
    const { splices } = this.#json
    for (let n = row.firstSplice; n < splices.length; n += 1) length += addedBy(splices[n] as Splice)
    if (length > this.rowBytesMax) this.rowBytesMax = length
  }

  write(pageIndex: number): Buffer {
    const { bytes, splices } = this.#json
    const out = Buffer.allocUnsafeSlow(this.#bytes + this.#rows.length * LEAD_BYTES_MAX + insertedBytesMax(splices))
    const base = pageIndex * ROWS_A_PAGE
    let end = 0
    for (let n = 0; n < this.#rows.length; n += 1) {
      const row = this.#rows[n] as StagedRow
      end += ORDINAL_LEAD.copy(out, end)
      end = writeDigits(out, end, base + n)
      end += SHAPE_LEAD.copy(out, end)
      end = writeDigits(out, end, row.shape)
      if (bytes[this.#json.skipSpace(row.from + 1)] !== CLOSE_OBJECT) {
        out[end] = COMMA
        end += 1
      }
      const lastSplice = this.#rows[n + 1]?.firstSplice ?? splices.length
      const inRow = { bytes, from: row.from + 1, to: row.to }
      if (row.firstSplice === lastSplice) end += bytes.copy(out, end, inRow.from, inRow.to)
      else end = copySpliced(inRow, { out, end }, splices.slice(row.firstSplice, lastSplice))
      out[end] = NEWLINE
      end += 1
    }
    return out.subarray(0, end)
  }
}
