/** Parses durations and sizes as people write them. Examples: `90s`, `5m`, `256MB`. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../instant.ts'

const MS_PER = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const
const BYTES_PER = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }

export const DURATION = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/
export const BYTE_SIZE = /^(\d{1,12}(?:\.\d{1,3})?) ?(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/

/** Returns a duration in milliseconds; undefined if the text is no duration. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = DURATION.exec(text) ?? []
  if (amount === undefined || unit === undefined) return undefined
  return Math.round(Number(amount) * MS_PER[unit as keyof typeof MS_PER])
}

/** Returns a size in bytes; undefined if the text is no size. `MB` is 1000² bytes, `MiB` is 1024² bytes. */
export function parseByteSize(text: string): number | undefined {
  const [, amount, unit] = BYTE_SIZE.exec(text) ?? []
  if (amount === undefined || unit === undefined) return undefined
  return Math.round(Number(amount) * BYTES_PER[unit as keyof typeof BYTES_PER])
}
