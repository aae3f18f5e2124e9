/** Estimates the density of a report (rows per µs of modification time). A wrong estimate only causes more requests. */

/** Variance of the rows per slice divided by their mean. */
const DISPERSION_AT_FIRST = 1.2
const DISPERSION_MIN = 0.1
const SCATTER_MAX = 6
const DENSITY_MEMORY = 0.5
const DISPERSION_MEMORY = 0.8
/** A slice with this many times more or fewer rows than expected restarts the estimate. */
const RESTART_FACTOR = 3
/** The least value in the logarithm of `margin` below, so that the margin is at least one standard deviation. */
const MARGIN_ONE = Math.exp(0.5)
const TREND_SHARE = 0.25
const TREND_SHARE_BY_CHANCE = 0.1
const CHANCE_DEVIATIONS = 2
/** Most reports grow over time: each slice is expected to be 3 % denser than the slice before. */
const TREND_AT_FIRST = 0.03
/** The next slice is expected to be at most 42 % denser than the latest: e^0.35 = 1.42. */
const TREND_MAX = 0.35

/** Returns how many rows to plan for a slice, so that the slice rarely exceeds one response. */
export function plannedRows(pageRows: number, dispersion = DISPERSION_AT_FIRST): number {
  const deviation = Math.sqrt(dispersion * pageRows)
  const margin = Math.sqrt(2 * Math.log(Math.max(MARGIN_ONE, (0.35 * pageRows) / deviation)))
  return Math.max(1, Math.floor(pageRows - 1 - margin * deviation))
}

export class Density {
  #rows = 0
  #length = 0
  #dispersion = DISPERSION_AT_FIRST
  /** Logarithm of the density's growth from slice to slice. Example: 0.03 means about 3 %. */
  #trend = TREND_AT_FIRST

  /** Rows per microsecond to expect in the next slice. */
  get rate(): number | undefined {
    return this.#rows > 0 && this.#length > 0 ? (this.#rows / this.#length) * Math.exp(this.#trend) : undefined
  }

  planned(pageRows: number): number {
    return plannedRows(pageRows, this.#dispersion)
  }

  saw(length: number, rows: number): void {
    const { rate } = this
    const expected = rate === undefined ? undefined : Math.max(1, rate * length)
    if (expected === undefined || rows * RESTART_FACTOR < expected || rows > expected * RESTART_FACTOR) this.#restart()
    else this.#compare(rows, expected)
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
    this.#rows *= Math.exp(this.#trend)
  }

  #restart(): void {
    this.#rows = 0
    this.#length = 0
    this.#trend = TREND_AT_FIRST
  }
}
