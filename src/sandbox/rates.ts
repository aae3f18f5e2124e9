/**
 * Exchange rates for `targetCurrencyCode` and `currencyCode`. The seed changes each rate by up to 3 percent. The fault
 * `fx` chooses other rates, so that converted amounts change without an edit of a row, as the specification allows.
 */
import { type Amounts, draw } from './dice.ts'
import { CURRENCIES, type Currency, NANO_PER_CENT, PER_EURO_MICROS } from './money.ts'

export class RateTable {
  readonly #seed: number
  readonly #step: bigint
  #rates = new Map<Currency, bigint>()

  /** If `amounts` is `cents`, converted amounts have two fractional digits. */
  constructor(seed: number, amounts: Amounts = 'long') {
    this.#seed = seed
    this.#step = amounts === 'cents' ? BigInt(NANO_PER_CENT) : 1n
    this.use(0)
  }

  use(generation: number): void {
    const rates = CURRENCIES.map((code, index): [Currency, bigint] => {
      const movedBy = (draw(this.#seed, index, 7_000 + generation) % 60_001) - 30_000
      const moved = code === 'EUR' ? 0 : Math.trunc((PER_EURO_MICROS[code] * movedBy) / 1_000_000)
      return [code, BigInt(PER_EURO_MICROS[code] + moved)]
    })
    this.#rates = new Map(rates)
  }

  /** Converts nano-units to another currency. Returns the amount unchanged if both currencies are the same. */
  convert(nano: bigint, from: Currency, to: Currency): bigint {
    if (from === to) return nano
    const converted = (nano * this.#rate(to)) / this.#rate(from)
    return converted - (converted % this.#step)
  }

  #rate(code: Currency): bigint {
    return this.#rates.get(code) ?? 1_000_000n
  }
}
