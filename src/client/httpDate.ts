/** The two HTTP headers that speak of time: `Date` and `Retry-After` (RFC 9110 §5.6.7 and §10.2.3). */
import { fromMillis, type Instant, millisBetween } from '../instant.ts'

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
/** An Instant is exact up to the year 2255; a date further off is a defect of the sender's. */
const MS_MAX = Date.UTC(2200, 0)

/** Reads an HTTP date in the one form that senders may still write; anything else is as good as none. */
export function parseHttpDate(text: string | undefined): Instant | undefined {
  if (text === undefined || !IMF_FIXDATE.test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) || ms < 0 || ms > MS_MAX ? undefined : fromMillis(ms)
}

/** How long `Retry-After` asks to wait from `now`, in milliseconds, never negative; undefined when it says nothing. */
export function parseRetryAfter(text: string | undefined, now: Instant): number | undefined {
  const trimmed = text?.trim()
  if (trimmed === undefined) return undefined
  if (/^\d{1,12}$/.test(trimmed)) return Number(trimmed) * 1_000
  const until = parseHttpDate(trimmed)
  return until === undefined ? undefined : Math.max(0, millisBetween(now, until))
}
