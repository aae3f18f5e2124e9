/** Exchange rates. The fault `fx` changes them, so that amounts change without an edit of a row. */
import { type Amounts, draw } from './dice.ts'
import { CURRENCIES, type Currency, NANO_PER_CENT, PER_EURO_MICROS } from './money.ts'

export class RateTable {
  readonly #seed: number
  readonly #step: bigint
  generation = 0

  constructor(seed: number, amounts: Amounts = 'long') {
    this.#seed = seed
    this.#step = amounts === 'cents' ? BigInt(NANO_PER_CENT) : 1n
  }

  convert(nano: bigint, from: Currency, to: Currency): bigint {
    if (from === to) return nano
    const converted = (nano * this.#rate(to)) / this.#rate(from)
    return converted - (converted % this.#step)
  }

  #rate(code: Currency): bigint {
    const micros = PER_EURO_MICROS[code]
    const movedBy = (draw(this.#seed, CURRENCIES.indexOf(code), 7_000 + this.generation) % 60_001) - 30_000
    return BigInt(code === 'EUR' ? micros : micros + Math.trunc((micros * movedBy) / 1_000_000))
  }
}
