/** Formats numbers, nouns and durations as text. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './instant.ts'

export const grouped = (value: number): string => value.toLocaleString('en-US')

/** Returns, for example, `1 page` or `12 pages`. */
export const counted = (value: number, noun: string): string => `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`

/** Returns a duration in at most two units. Examples: `0.8 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  const tenths = Math.round(ms / 100) / 10
  if (tenths < 10) return `${tenths} s`
  const whole = Math.round(ms / SECOND_MS) * SECOND_MS
  if (whole < MINUTE_MS) return `${whole / SECOND_MS} s`
  if (whole < HOUR_MS) return twoUnits(whole, [MINUTE_MS, 'min'], [SECOND_MS, 's'])
  if (whole < DAY_MS) return twoUnits(whole, [HOUR_MS, 'h'], [MINUTE_MS, 'min'])
  return twoUnits(whole, [DAY_MS, 'd'], [HOUR_MS, 'h'])
}

type Unit = readonly [ms: number, name: string]

function twoUnits(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((ms % large) / small)
  return `${Math.floor(ms / large)} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`
}

/** Removes the fraction of a second from a time in ISO 8601. */
export const wholeSeconds = (time: string | null): string => time?.replace(/\.\d+Z$/, 'Z') ?? ''
