/**
 * The rate table behind `targetCurrencyCode` and `currencyCode`. Rates are fixed per seed; a new generation of the
 * table (the `fx` fault) changes converted amounts without any row being edited, which the specification allows.
 */
import { draw } from './draw.ts'

/** Rough value of one euro; the seed moves each by a few percent. Six fractional digits, as whole numbers. */
const PER_EURO_MICROS = {
  EUR: 1_000_000,
  USD: 1_084_300,
  GBP: 853_200,
  CHF: 967_450,
  SEK: 11_304_900,
  NOK: 11_561_200,
  DKK: 7_459_800,
  PLN: 4_312_750,
  CZK: 24_731_000,
  JPY: 162_480_000,
  AUD: 1_641_900,
  CAD: 1_472_350,
} as const

export type Currency = keyof typeof PER_EURO_MICROS

export const CURRENCIES = Object.keys(PER_EURO_MICROS) as readonly Currency[]

export const isCurrency = (code: string): code is Currency => Object.hasOwn(PER_EURO_MICROS, code)

export class RateTable {
  readonly #seed: number
  #generation = 0
  #rates = new Map<Currency, bigint>()

  constructor(seed: number) {
    this.#seed = seed
    this.use(0)
  }

  get generation(): number {
    return this.#generation
  }

  use(generation: number): void {
    this.#generation = generation
    const rates = CURRENCIES.map((code, index): [Currency, bigint] => {
      const movedBy = (draw(this.#seed, index, 7_000 + generation) % 60_001) - 30_000
      const moved = code === 'EUR' ? 0 : Math.trunc((PER_EURO_MICROS[code] * movedBy) / 1_000_000)
      return [code, BigInt(PER_EURO_MICROS[code] + moved)]
    })
    this.#rates = new Map(rates)
  }

  /** Nano-units in, nano-units out; an amount in its own currency comes back untouched. */
  convert(nano: bigint, from: Currency, to: Currency): bigint {
    if (from === to) return nano
    return (nano * this.#rate(to)) / this.#rate(from)
  }

  #rate(code: Currency): bigint {
    return this.#rates.get(code) ?? 1_000_000n
  }
}
