/** Prints a query's result: as a table for people, as CSV or JSON for programs. */
import { type Cell, jsonOf } from '../warehouse/database/cells.ts'
import type { TakeRows } from '../warehouse/database/duckdb.ts'
import { type Warrant, warrantText } from '../reader/warrants.ts'
import { counted } from '../words.ts'
import { table, widthOf } from './layout.ts'
import type { Output } from './shell.ts'

export interface ResultPrinter {
  readonly take: TakeRows
  /** Prints what follows the last row. `warrants` describe how complete the reports of the query are. */
  end(columns: readonly string[], warrants?: readonly Warrant[]): void
}

export const FORMATS = ['table', 'csv', 'json'] as const
export type Format = (typeof FORMATS)[number]

const CELL_CHARS_MAX = 80

export function tablePrinter(out: Output, rowsMax: number): ResultPrinter {
  const rows: (readonly Cell[])[] = []
  return {
    // Keeps one row more than the limit, which shows that rows are left out.
    take: async (piece) => {
      rows.push(...piece.slice(0, rowsMax + 1 - rows.length))
      return rows.length <= rowsMax
    },
    end: (columns, warrants = []) => {
      const shown = rows.slice(0, rowsMax)
      const isPlan = columns[0] === 'explain_key'
      const drawn = table(
        columns.map((head, index) => ({ head, align: shown.some((row) => isNumber(row[index])) ? 'right' : 'left' })),
        shown.map((row) => row.map((cell) => (isPlan ? (cell?.text ?? '') : shownText(cell)))),
        isPlan ? undefined : widthOf(out),
      )
      const note =
        rows.length > rowsMax
          ? `the first ${counted(rowsMax, 'row')}; --limit N shows more, --format csv or json prints all`
          : counted(rows.length, 'row')
      out.write(`${drawn}(${note})\n${warrants.map((each) => `${warrantText(each)}\n`).join('')}`)
    },
  }
}

const isNumber = (cell: Cell | undefined): boolean => cell?.isJson === true && /^-?\d/.test(cell.text)

function shownText(cell: Cell): string {
  if (cell === null) return 'NULL'
  const text = isNumber(cell) ? cell.text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') : visible(cell.text)
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX - 1)}…` : text
}

/** Escapes control characters, which would break the table. */
const visible = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1))

export function csvPrinter(out: Output): ResultPrinter {
  let isBegun = false
  const writeHead = (columns: readonly string[]) => {
    if (!isBegun) out.write(csvLine(columns.map(quoted)))
    isBegun = true
  }
  return {
    take: async (rows, columns) => {
      writeHead(columns)
      out.write(rows.map((row) => csvLine(row.map(csvText))).join(''))
      await out.drained()
      return true
    },
    end: writeHead,
  }
}

const csvLine = (fields: readonly string[]): string => `${fields.join(',')}\n`

/** Returns a cell as CSV. NULL is an empty field, and an empty string is `""`. */
function csvText(cell: Cell): string {
  if (cell === null) return ''
  return cell.text === '' ? '""' : quoted(cell.text)
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Prints rows as a JSON array. With warrants, prints `{"rows":[…],"reports":[…]}` instead. */
function jsonPrinter(out: Output, hasWarrants: boolean): ResultPrinter {
  const head = hasWarrants ? '{"rows":[' : '['
  let written = 0
  return {
    take: async (rows, columns) => {
      const objects = rows.map((row) => {
        const members = row.map((cell, index) => `${JSON.stringify(columns[index])}:${jsonOf(cell)}`)
        written += 1
        return `${written === 1 ? `${head}\n` : ',\n'}{${members.join(',')}}`
      })
      out.write(objects.join(''))
      await out.drained()
      return true
    },
    end: (_, warrants = []) => {
      out.write(written === 0 ? `${head}]\n` : '\n]\n')
      if (hasWarrants) out.write(`,"reports":${JSON.stringify(warrants)}}\n`)
    },
  }
}

export function printerOf(format: Format | 'document', out: Output, rowsMax: number): ResultPrinter {
  if (format === 'csv') return csvPrinter(out)
  return format === 'table' ? tablePrinter(out, rowsMax) : jsonPrinter(out, format === 'document')
}
