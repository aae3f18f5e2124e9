/** Numbers, nouns and durations as text. */

export const grouped = (value: number): string => value.toLocaleString('en-US')

/** Returns, for example, `1 page` or `12 pages`. */
export const counted = (value: number, noun: string): string => `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`

const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400

/** Returns a duration in at most two units. Examples: `0.8 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  const tenths = Math.round(ms / 100) / 10
  if (tenths < 10) return `${tenths} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < MINUTE_S) return `${seconds} s`
  if (seconds < HOUR_S) return twoUnits(seconds, [MINUTE_S, 'min'], [1, 's'])
  if (seconds < DAY_S) return twoUnits(seconds, [HOUR_S, 'h'], [MINUTE_S, 'min'])
  return twoUnits(seconds, [DAY_S, 'd'], [HOUR_S, 'h'])
}

type Unit = readonly [seconds: number, name: string]

function twoUnits(seconds: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((seconds % large) / small)
  return `${Math.floor(seconds / large)} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`
}
