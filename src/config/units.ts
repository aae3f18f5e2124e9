/** Parses durations and sizes as people write them, such as `90s` and `256MB`, and advises an overlap. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../instant.ts'

const MS_PER = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const
const BYTES_PER = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }

export const DURATION = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/
export const BYTE_SIZE = /^(\d{1,12}(?:\.\d{1,3})?) ?(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/

/** Returns milliseconds. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = DURATION.exec(text) ?? []
  if (amount === undefined || unit === undefined) return undefined
  return Math.round(Number(amount) * MS_PER[unit as keyof typeof MS_PER])
}

/** Returns bytes. `MB` is 1000² bytes, and `MiB` is 1024² bytes. */
export function parseByteSize(text: string): number | undefined {
  const [, amount, unit] = BYTE_SIZE.exec(text) ?? []
  if (amount === undefined || unit === undefined) return undefined
  return Math.round(Number(amount) * BYTES_PER[unit as keyof typeof BYTES_PER])
}

const STEPS_MS = [
  SECOND_MS,
  5 * SECOND_MS,
  30 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  DAY_MS,
] as const
/** The advice is a multiple of a step that fits in it at least twice. Example: 14 min become 3 × 5 = 15 min. */
const STEPS_MIN = 2

/** Returns about twice the largest lateness (ms), rounded up. Returns undefined if `overlapMs` is already enough. */
export function advisedOverlapMs(largestLatenessMs: number, overlapMs: number): number | undefined {
  if (largestLatenessMs <= overlapMs / 2) return undefined
  const wanted = 2 * largestLatenessMs
  const step = STEPS_MS.findLast((each) => wanted >= STEPS_MIN * each) ?? STEPS_MS[0]
  return Math.ceil(wanted / step) * step
}

const UNITS = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['m', MINUTE_MS],
  ['s', SECOND_MS],
] as const

/** Uses the largest unit that divides the duration. Examples: `90s`, `15m`. */
export function settingDuration(ms: number): string {
  const whole = Math.ceil(ms / SECOND_MS) * SECOND_MS
  const [unit, size] = UNITS.find(([, each]) => whole >= each && whole % each === 0) ?? ['s', SECOND_MS]
  return `${whole / size}${unit}`
}

export function advisedOverlap(largestLatenessMs: number, overlapMs: number): string | undefined {
  const advised = advisedOverlapMs(largestLatenessMs, overlapMs)
  return advised === undefined ? undefined : settingDuration(advised)
}
