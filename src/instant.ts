/** Points in time in microseconds, because rounding to milliseconds would lose rows at the end of a window. */
declare const instantBrand: unique symbol

/** Microseconds since 1970-01-01T00:00:00Z. The number is an exact integer until the year 2255. */
export type Instant = number & { readonly [instantBrand]: 'µs' }

export const MICROS_PER_MS = 1_000
export const MICROS_PER_SECOND = 1_000_000

export const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

const ISO_DATE_TIME =
  /^(?<date>\d{4}-\d{2}-\d{2})(?:[Tt ](?<time>\d{2}:\d{2}(?::\d{2})?)(?:[.,](?<fraction>\d+))?(?:[Zz]|(?<hours>[+-]\d{2})(?::?(?<minutes>\d{2}))?)?)?$/

export const fromMillis = (ms: number): Instant => Math.trunc(ms * MICROS_PER_MS) as Instant

export const toMillis = (instant: Instant): number => Math.floor(instant / MICROS_PER_MS)

export const plusMs = (instant: Instant, ms: number): Instant => (instant + Math.trunc(ms * MICROS_PER_MS)) as Instant

export const minusMs = (instant: Instant, ms: number): Instant => plusMs(instant, -ms)

export const earliest = (...instants: readonly Instant[]): Instant => Math.min(...instants) as Instant

export const latest = (...instants: readonly Instant[]): Instant => Math.max(...instants) as Instant

export const millisBetween = (from: Instant, to: Instant): number => (to - from) / MICROS_PER_MS

/** Parses an ISO 8601 time (spec §4, rule 1). No zone means UTC. Digits after the microsecond are ignored. */
export function parseInstant(text: string): Instant | undefined {
  const groups = ISO_DATE_TIME.exec(text)?.groups
  if (groups === undefined) return undefined
  const zone = groups['hours'] === undefined ? 'Z' : `${groups['hours']}:${groups['minutes'] ?? '00'}`
  const ms = Date.parse(`${groups['date']}T${groups['time'] ?? '00:00'}${zone}`)
  if (Number.isNaN(ms) || !isCalendarDate(groups['date'] ?? '')) return undefined
  const micros = Number((groups['fraction'] ?? '').slice(0, 6).padEnd(6, '0'))
  return (ms * MICROS_PER_MS + micros) as Instant
}

/** Returns ISO 8601 in UTC with six fractional digits. */
export function formatInstant(instant: Instant): string {
  const wholeSecond = Math.floor(instant / MICROS_PER_SECOND)
  const micros = instant - wholeSecond * MICROS_PER_SECOND
  return `${new Date(wholeSecond * 1_000).toISOString().slice(0, 19)}.${String(micros).padStart(6, '0')}Z`
}

/** Returns whether the date exists. `Date.parse` alone would turn 30 February into a date in March. */
function isCalendarDate(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date)
}
