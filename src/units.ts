/** Parses durations and sizes, such as `90s` and `256MB`. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './instant.ts'

const MS_PER = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const
const BYTES_PER = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }

export const DURATION = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/
export const BYTE_SIZE = /^(\d{1,12}(?:\.\d{1,3})?) ?(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/

const amountIn =
  (pattern: RegExp, sizes: Readonly<Record<string, number>>) =>
  (text: string): number | undefined => {
    const [, amount, unit = ''] = pattern.exec(text) ?? []
    return amount === undefined ? undefined : Math.round(Number(amount) * (sizes[unit] ?? 0))
  }

/** Returns milliseconds, or undefined for text that is not a duration. */
export const parseDuration = amountIn(DURATION, MS_PER)

/** Returns bytes. `MB` is 1000² bytes, and `MiB` is 1024² bytes. */
export const parseByteSize = amountIn(BYTE_SIZE, BYTES_PER)

const STEPS_MS = ['1s', '5s', '30s', '1m', '5m', '15m', '1h', '6h', '1d'].map((step) => parseDuration(step) ?? 0)

/** Returns about twice the largest lateness, such as `15m`, or undefined if `overlapMs` is enough. */
export function advisedOverlap(largestLatenessMs: number, overlapMs: number): string | undefined {
  if (largestLatenessMs <= overlapMs / 2) return undefined
  const wanted = 2 * largestLatenessMs
  // Rounds up to a multiple of the largest step that fits twice. Example: 14 min becomes 15 min, with a step of 5 min.
  const step = STEPS_MS.findLast((each) => wanted >= 2 * each) ?? SECOND_MS
  return settingDuration(Math.ceil(wanted / step) * step)
}

/** Rounds up to seconds. Examples: `90s`, `15m`. */
export function settingDuration(ms: number): string {
  const whole = Math.ceil(ms / SECOND_MS) * SECOND_MS
  const [unit, size] = Object.entries(MS_PER).findLast(([, each]) => whole >= each && whole % each === 0) ?? ['s', 1]
  return `${whole / size}${unit}`
}
