/** Times in ticks of 100 ns, which is finer than the client's precision. Tests thus find its rounding errors. */
import { parseInstant, type Instant } from '../instant.ts'

/** Ticks of 100 ns since 2020. Ticks since 1970 would exceed 2^53, the limit of exact integers. */
export type Ticks = number

/** The modification time of a row that was never edited. No window contains this time. */
export const NEVER: Ticks = Number.NEGATIVE_INFINITY

export const TICKS_PER_MS = 10_000
export const TICKS_PER_SECOND = 1_000 * TICKS_PER_MS
export const TICKS_PER_MINUTE = 60 * TICKS_PER_SECOND
export const TICKS_PER_DAY = 1_440 * TICKS_PER_MINUTE

const EPOCH_MS = Date.UTC(2020, 0, 1)
const EPOCH_MICROS = EPOCH_MS * 1_000

/** `bare`: UTC without a zone. `mixed`: the style differs from row to row. */
export const TIME_STYLES = ['zulu', 'offset', 'bare', 'mixed'] as const
export type TimeStyle = (typeof TIME_STYLES)[number]
export type PlainTimeStyle = Exclude<TimeStyle, 'mixed'>

const OFFSET_TICKS = 120 * TICKS_PER_MINUTE

export const ticksOf = (instant: Instant): Ticks => (instant - EPOCH_MICROS) * 10

export const ticksOfMillis = (ms: number): Ticks => (ms - EPOCH_MS) * TICKS_PER_MS

export function parseTicks(text: string): Ticks | undefined {
  const instant = parseInstant(text)
  if (instant === undefined) return undefined
  const seventh = /[.,]\d{6}(\d)/.exec(text)?.[1] ?? '0'
  return ticksOf(instant) + Number(seventh)
}

export function formatTicks(ticks: Ticks, style: PlainTimeStyle = 'zulu'): string {
  const local = style === 'offset' ? ticks + OFFSET_TICKS : ticks
  const second = Math.floor(local / TICKS_PER_SECOND)
  const rest = local - second * TICKS_PER_SECOND
  const time = new Date(EPOCH_MS + second * 1_000).toISOString().slice(0, 19)
  const fraction = rest === 0 ? '' : `.${String(rest + TICKS_PER_SECOND).slice(1)}`
  return `${time}${fraction}${ZONES[style]}`
}

const ZONES: Record<PlainTimeStyle, string> = { zulu: 'Z', offset: '+02:00', bare: '' }

export const yearOf = (ticks: Ticks): number => new Date(EPOCH_MS + ticks / TICKS_PER_MS).getUTCFullYear()
