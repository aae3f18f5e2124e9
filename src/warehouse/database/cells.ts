/** Converts values of a query result to exact text. */
/** A value: null, plain text (such as a name or a time), or JSON text (such as a number or a list). */
export type Cell = { readonly text: string; readonly isJson: boolean } | null

export const jsonCell = (text: string): Cell => ({ text, isJson: true })

export const textCell = (text: string): Cell => ({ text, isJson: false })

export const jsonOf = (cell: Cell): string => {
  if (cell === null) return 'null'
  return cell.isJson ? cell.text : JSON.stringify(cell.text)
}

export const arrayOf = (items: readonly Cell[]): Cell => jsonCell(`[${items.map(jsonOf).join(',')}]`)

export const objectOf = (entries: readonly (readonly [name: string, value: Cell])[]): Cell =>
  jsonCell(`{${entries.map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`).join(',')}}`)

/** The years 0 to 9999, in microseconds since 1970. */
const MICROS_MIN = -62_167_219_200_000_000n
const MICROS_MAX = 253_402_300_799_999_999n

/** Returns the time in ISO 8601, or undefined outside the years 0 to 9999. */
export function timeCell(micros: bigint, zone: 'Z' | ''): Cell | undefined {
  if (micros < MICROS_MIN || micros > MICROS_MAX) return undefined
  // Formats seconds and microseconds separately: one number for both would lose digits after the year 2255.
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n
  const seconds = new Date(Number((micros - fraction) / 1_000n)).toISOString().slice(0, 19)
  return textCell(`${seconds}${fraction === 0n ? '' : `.${String(fraction).padStart(6, '0')}`}${zone}`)
}
