/** Random numbers that depend only on the seed, the row and a purpose, so that the order of calls does not matter. */
import { CURRENCIES, type Currency, decimalText, exact, NANO, NANO_PER_CENT, PER_EURO_MICROS } from './money.ts'
import type { Pools } from './pools.ts'
import { formatTicks, type PlainTimeStyle, type Ticks, type TimeStyle } from './ticks.ts'

export function draw(seed: number, number: number, purpose: number): number {
  let h = (seed ^ Math.imul(number + 1, 0x9e3779b1) ^ Math.imul(purpose + 1, 0x85ebca77)) | 0
  h = Math.imul(h ^ (h >>> 16), 0x21f0aaad)
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97)
  return (h ^ (h >>> 15)) >>> 0
}

export function pick<T>(from: readonly T[], drawn: number): T {
  return from[drawn % from.length] as T
}

export function hashOf(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}

export const AMOUNTS = ['cents', 'long'] as const
/** The number of decimals of generated amounts: two for `cents`, up to nine for `long`. */
export type Amounts = (typeof AMOUNTS)[number]

export interface WorldOptions {
  readonly seed: number
  /** The number of rows of the report `events`. Rows of other reports refer to these events. */
  readonly rows: number
  readonly timeStyle?: TimeStyle | undefined
  readonly amounts: Amounts
  readonly collections: boolean
  readonly itemsPerCollection?: number | undefined
}

export interface WorldSettings extends WorldOptions {
  readonly pools: Pools
  /** The latest time of a generated change: HISTORY_END, or a minute before the sandbox's start if it is earlier. */
  readonly historyEnd: Ticks
  readonly rateTable: () => number
}

export type Range = readonly [number, number]
const PRICES: Range = [20, 5_020]

const PLAIN_STYLES: readonly PlainTimeStyle[] = ['zulu', 'offset', 'bare']

/** The random values of one row. They are always the same for the same purpose, such as `status`. */
export class Dice {
  readonly settings: WorldSettings
  readonly #seed: number
  readonly #number: number

  constructor(settings: WorldSettings, place: string, number: number) {
    this.settings = settings
    this.#seed = (settings.seed ^ hashOf(place)) | 0
    this.#number = number
  }

  get pools(): Pools {
    return this.settings.pools
  }

  below(limit: number, purpose: string): number {
    return draw(this.#seed, this.#number, hashOf(purpose)) % limit
  }

  pick<T>(from: readonly T[], purpose: string): T {
    return from[this.below(from.length, purpose)] as T
  }

  chance(percent: number, purpose: string): boolean {
    return this.below(100, purpose) < percent
  }

  cents(limit: number, purpose: string): unknown {
    return exact(decimalText(BigInt(this.below(limit * 100, purpose)) * BigInt(NANO_PER_CENT)))
  }

  amount(purpose: string, euros?: Range, currency?: Currency): unknown {
    return exact(decimalText(this.nano(purpose, euros, currency)))
  }

  /** Returns an amount in billionths. Example: 1.5 is 1,500,000,000. */
  nano(purpose: string, [least, most]: Range = PRICES, currency: Currency = 'EUR'): bigint {
    const whole = this.below(2 ** 32, purpose)
    if (this.settings.amounts === 'cents') {
      const cents = least * 100 + (whole % ((most - least) * 100))
      return BigInt(Math.round((cents * PER_EURO_MICROS[currency]) / 1e6)) * BigInt(NANO_PER_CENT)
    }
    const kind = this.below(10, `${purpose} kind`)
    const rest = this.below(NANO, `${purpose} rest`)
    if (kind < 6) return nanoOf(whole % 50_000, (rest % 100) * NANO_PER_CENT)
    if (kind < 8) return nanoOf(whole % 100_000, rest)
    return kind < 9 ? nanoOf(whole, rest) : nanoOf(whole % 90_000, 0)
  }

  currency(purpose: string): Currency {
    return this.chance(50, `${purpose} is EUR`) ? 'EUR' : this.pick(CURRENCIES, purpose)
  }

  rate(currency: Currency): unknown {
    return exact(decimalText(BigInt(PER_EURO_MICROS[currency]) * 1_000n))
  }

  /** Formats a time in the option's `timeStyle`. Without the option, each field has a random style. */
  time(field: string, ticks: Ticks): string {
    const { seed, timeStyle } = this.settings
    const drawn = draw(seed, hashOf(field) & 0xffff, 3)
    const style = timeStyle ?? pick<TimeStyle>(['zulu', 'offset', 'bare', 'mixed'], drawn)
    return formatTicks(ticks, style === 'mixed' ? pick(PLAIN_STYLES, draw(seed, this.#number, 4)) : style)
  }
}

const nanoOf = (whole: number, rest: number): bigint => BigInt(whole) * BigInt(NANO) + BigInt(rest)

/** Converts an amount between currencies. The fault `fx` selects other exchange rates. */
export function convert(nano: bigint, [from, to]: readonly [Currency, Currency], settings: RateSettings): bigint {
  if (from === to) return nano
  const converted = (nano * rateOf(to, settings)) / rateOf(from, settings)
  return settings.amounts === 'cents' ? converted - (converted % BigInt(NANO_PER_CENT)) : converted
}

type RateSettings = Pick<WorldSettings, 'seed' | 'amounts' | 'rateTable'>

function rateOf(code: Currency, { seed, rateTable }: RateSettings): bigint {
  const micros = PER_EURO_MICROS[code]
  const movedBy = (draw(seed, CURRENCIES.indexOf(code), 7_000 + rateTable()) % 60_001) - 30_000
  return BigInt(code === 'EUR' ? micros : micros + Math.trunc((micros * movedBy) / 1_000_000))
}
