/**
 * Writes a page's rows as the lines that DuckDB reads: each row as it came, led by the two numbers that a row can't
 * know of itself (where it stood, which fields it carries), with the few spliced bytes that exactness needs.
 */
import { ORDINAL_FIELD, ROWS_A_PAGE, SHAPE_FIELD } from '../plan/stagedNames.ts'
import type { JsonBytes, Splice } from './jsonBytes.ts'

export interface StagedRow {
  /** Positions of the row's braces: `{` and one behind `}`. */
  readonly from: number
  readonly to: number
  readonly shape: number
  /** Index of the first splice that lies in the row. */
  readonly firstSplice: number
}

const CLOSE_OBJECT = 0x7d
const NEWLINE = 0x0a

export class StagedLines {
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
    if (row.to - row.from > this.rowBytesMax) this.rowBytesMax = row.to - row.from
  }

  write(pageIndex: number): Buffer {
    const { bytes, splices } = this.#json
    const out = Buffer.allocUnsafe(this.#bytes + this.#rows.length * LEAD_BYTES_MAX + spliceBytes(splices))
    let end = 0
    for (let n = 0; n < this.#rows.length; n += 1) {
      const row = this.#rows[n] as StagedRow
      end += out.write(
        `{"${ORDINAL_FIELD}":${pageIndex * ROWS_A_PAGE + n},"${SHAPE_FIELD}":${row.shape}`,
        end,
        'latin1',
      )
      const firstField = skipBlank(bytes, row.from + 1)
      if (bytes[firstField] !== CLOSE_OBJECT) end += out.write(',', end, 'latin1')
      const lastSplice = this.#rows[n + 1]?.firstSplice ?? splices.length
      let from = row.from + 1
      for (let s = row.firstSplice; s < lastSplice; s += 1) {
        const splice = splices[s] as Splice
        end += bytes.copy(out, end, from, splice.at)
        end += splice.insert.copy(out, end)
        from = splice.at + splice.remove
      }
      end += bytes.copy(out, end, from, row.to)
      out[end] = NEWLINE
      end += 1
    }
    return out.subarray(0, end)
  }
}

/** `{"#":` + 16 digits + `,"$":` + shape + `,` + line break. */
const LEAD_BYTES_MAX = 48

const spliceBytes = (splices: readonly Splice[]): number =>
  splices.reduce((sum, splice) => sum + splice.insert.length, 0)

function skipBlank(bytes: Buffer, from: number): number {
  let i = from
  while (bytes[i] === 0x20 || bytes[i] === 0x09) i += 1
  return i
}
