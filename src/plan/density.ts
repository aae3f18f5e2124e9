/** Estimates rows per µs from earlier slices, to plan the next slice. A wrong estimate costs only requests. */

/** First estimate of the dispersion: the variance of the number of rows per slice, divided by the mean number. */
const DISPERSION_AT_FIRST = 1.2
const DISPERSION_MIN = 0.1
const SCATTER_MAX = 6
/** Weight of the earlier slices in the density. The last slice has the weight 1. */
const DENSITY_MEMORY = 0.5
const DISPERSION_MEMORY = 0.8
/** If a slice has this many times more or fewer rows than expected, the estimate no longer uses earlier slices. */
const RESTART_FACTOR = 3
/** Keeps the margin of `plannedRows` at one standard deviation or more, also if the variance is high. */
const WORTH_MIN = Math.exp(0.5)
/** Share of a slice's deviation that is added to the trend. The smaller share is for deviations that may be chance. */
const TREND_SHARE = 0.25
const TREND_SHARE_BY_CHANCE = 0.1
const CHANCE_DEVIATIONS = 2
/** The trend before the first slice. It is positive, since most reports have more rows per day towards the present. */
const TREND_AT_FIRST = 0.03
/** Maximum change of the density from slice to slice, as a difference of logarithms. */
const TREND_MAX = 0.35

/** Returns the number of rows to plan for a response of at most `pageRows`, so that a full response is rare. */
export function plannedRows(pageRows: number, dispersion = DISPERSION_AT_FIRST): number {
  const deviation = Math.sqrt(dispersion * pageRows)
  const margin = Math.sqrt(2 * Math.log(Math.max(WORTH_MIN, (0.35 * pageRows) / deviation)))
  return Math.max(1, Math.floor(pageRows - 1 - margin * deviation))
}

export class Density {
  #rows = 0
  #length = 0
  #dispersion = DISPERSION_AT_FIRST
  /** Growth of the density from slice to slice, as a difference of logarithms. */
  #trend = TREND_AT_FIRST

  /** The expected number of rows per microsecond of the next slice; undefined before the first row. */
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
    // The rows of the new slice are added next, so the earlier rows are scaled to the present density.
    this.#rows *= Math.exp(this.#trend)
  }

  /** Sets the density to `rows` rows in `length` µs, and forgets earlier slices. `guess(0, 0)` makes it unknown. */
  guess(length: number, rows: number): void {
    this.#rows = rows
    this.#length = length
    this.#trend = TREND_AT_FIRST
  }
}
