/** Formats numbers, times and durations. Times are in UTC. */
import { nowMs } from './clock.js'

const UNITS = /** @type {const} */ ([
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
])

/** @param {number} value */
export const grouped = (value) => value.toLocaleString('en')

/** @param {number} value */
export const unlessZero = (value) => (value === 0 ? '' : grouped(value))

/** Returns, for example, `3 rows`. @param {number} count @param {string} noun */
export const counted = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`

/** Returns, for example, `2 h 5 min`. @param {number} seconds */
export function duration(seconds) {
  if (seconds > 0 && seconds < 1) return `${Math.max(0, Math.round(seconds * 1_000))} ms`
  let left = Math.round(seconds)
  const parts = []
  for (const [size, name] of UNITS) {
    if (left >= size || (name === 's' && parts.length === 0)) {
      parts.push(`${Math.floor(left / size)} ${name}`)
      left %= size
    }
    if (parts.length === 2) break
  }
  return parts.join(' ')
}

/** Returns, for example, `2026-11-21 10:22:16`. @param {string | null} time */
export const moment = (time) => (time === null ? '–' : time.slice(0, 19).replace('T', ' '))

/** @param {string} time */
export const millis = (time) => Date.parse(time)

/** Returns, for example, `12 s ago`. @param {string | null} time */
export function ago(time) {
  if (time === null) return 'never'
  const seconds = (nowMs() - millis(time)) / 1_000
  return seconds < 2 ? 'just now' : `${duration(seconds)} ago`
}

const WORDS = /** @type {Record<string, string>} */ ({
  incremental: 'sync',
  'never run': 'not run yet',
  'retry-rejected': 'retry of rejected rows',
  'dismiss-rejected': 'dismissal of rejected rows',
})

/** @param {string} word */
export const wordFor = (word) => WORDS[word] ?? word
