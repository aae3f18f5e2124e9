/** Estimates the density of a report (rows per µs of modification time). A wrong estimate only causes more requests. */

/** First guess of how much the rows per slice vary: their variance divided by their mean. */
const DISPERSION_AT_FIRST = 1.2
const DISPERSION_MIN = 0.1
const SCATTER_MAX = 6
/** Each new slice halves the weight of all earlier slices. */
const DENSITY_MEMORY = 0.5
const DISPERSION_MEMORY = 0.8
/** If a slice has over 3 times as many rows as expected, or under a third, the estimate forgets all earlier slices. */
const RESTART_FACTOR = 3
/** Keeps the safety margin in `plannedRows` at one standard deviation or more, because √(2 × ln(e^0.5)) = 1. */
const MARGIN_ONE = Math.exp(0.5)
/** How strongly a slice with more or fewer rows than expected changes `#trend`. Less if this may be chance. */
const TREND_SHARE = 0.25
const TREND_SHARE_BY_CHANCE = 0.1
const CHANCE_DEVIATIONS = 2
/** Initial `#trend`: each slice has 3 % more rows per µs than the slice before, because most reports grow over time. */
const TREND_AT_FIRST = 0.03
/** Maximum of `#trend`: the density grows by at most 42 % per slice, because e^0.35 = 1.42. */
const TREND_MAX = 0.35

/** Returns how many rows to plan for a slice. Fewer than `pageRows`, so that the slice rarely exceeds one response. */
export function plannedRows(pageRows: number, dispersion = DISPERSION_AT_FIRST): number {
  const deviation = Math.sqrt(dispersion * pageRows)
  const margin = Math.sqrt(2 * Math.log(Math.max(MARGIN_ONE, (0.35 * pageRows) / deviation)))
  return Math.max(1, Math.floor(pageRows - 1 - margin * deviation))
}

export class Density {
  #rows = 0
  #length = 0
  #dispersion = DISPERSION_AT_FIRST
  /** Logarithm of the factor by which rows per µs change from slice to slice. Example: 0.03 means about 3 % more. */
  #trend = TREND_AT_FIRST

  /** How many rows per microsecond to expect in the next slice. Undefined until a slice has rows. */
  get rate(): number | undefined {
    return this.#rows > 0 && this.#length > 0 ? (this.#rows / this.#length) * Math.exp(this.#trend) : undefined
  }

  planned(pageRows: number): number {
    return plannedRows(pageRows, this.#dispersion)
  }

  saw(length: number, rows: number): void {
    const { rate } = this
    if (rate === undefined) this.guess(0, 0)
    else {
      const expected = Math.max(1, rate * length)
      if (rows * RESTART_FACTOR < expected || rows > expected * RESTART_FACTOR) this.guess(0, 0)
      else this.#compare(rows, expected)
    }
    this.#rows = this.#rows * DENSITY_MEMORY + rows
    this.#length = this.#length * DENSITY_MEMORY + length
  }

  #compare(rows: number, expected: number): void {
    const scatter = Math.min(SCATTER_MAX, (rows - expected) ** 2 / expected)
    const dispersion = DISPERSION_MEMORY * this.#dispersion + (1 - DISPERSION_MEMORY) * scatter
    this.#dispersion = Math.max(DISPERSION_MIN, dispersion)
    const deviation = Math.log(rows / expected)
    const isByChance = Math.abs(deviation) < CHANCE_DEVIATIONS / Math.sqrt(expected)
    const trend = this.#trend + (isByChance ? TREND_SHARE_BY_CHANCE : TREND_SHARE) * deviation
    this.#trend = Math.max(-TREND_MAX, Math.min(TREND_MAX, trend))
    // Adjusts the earlier row count for growth, as if the earlier slices were as dense as the new one.
    this.#rows *= Math.exp(this.#trend)
  }

  /** Forgets earlier slices and starts again from `rows` rows in `length` µs. `guess(0, 0)` makes `rate` undefined. */
  guess(length: number, rows: number): void {
    this.#rows = rows
    this.#length = length
    this.#trend = TREND_AT_FIRST
  }
}
