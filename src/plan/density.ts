/**
 * How densely rows stand in time, as far as the slices read so far tell, and how long the next slice may be. Cutting is
 * about cost only: a slice that holds too many rows costs a request more, a half-empty one half a request.
 */

/** A slice's count is expected to scatter this many times as much as if rows came by chance, until slices tell. */
const DISPERSION_AT_FIRST = 1.2
const DISPERSION_MIN = 0.1
const SCATTER_MAX = 6
/** Weight of what was known before against the slice seen last: of the density, and of how much counts scatter. */
const DENSITY_MEMORY = 0.5
const DISPERSION_MEMORY = 0.8
/** A slice with so many times fewer or more rows than expected says that what came before is no guide. */
const SURPRISE = 3
const PLANNED_SHARE_MIN = 0.25
/** From here down the margin would shrink where counts scatter more: it stays one deviation. */
const WORTH_MIN = Math.exp(0.5)
/** How much of a slice's deviation is taken for a trend that goes on: little while chance explains it. */
const TREND_SHARE = 0.25
const TREND_SHARE_BY_CHANCE = 0.1
const CHANCE_DEVIATIONS = 2
/** Most reports grow denser towards the present. */
const TREND_AT_FIRST = 0.03
/** How far a trend may reach, from slice to slice, in the density's logarithm. */
const TREND_MAX = 0.35

/**
 * Rows to plan for where a response holds `pageRows` and counts scatter by `dispersion` × what chance alone would do.
 * The margin is where the cost of an overfull slice, times its likelihood, meets that of the room left free.
 */
export function plannedRows(pageRows: number, dispersion = DISPERSION_AT_FIRST): number {
  const deviation = Math.sqrt(dispersion * pageRows)
  const margin = Math.sqrt(2 * Math.log(Math.max(WORTH_MIN, (0.35 * pageRows) / deviation)))
  return Math.max(1, Math.floor(Math.max(pageRows * PLANNED_SHARE_MIN, pageRows - 1 - margin * deviation)))
}

export class Density {
  /** Rows and µs of the slices seen, older ones weighing less. */
  #rows = 0
  #length = 0
  #dispersion = DISPERSION_AT_FIRST
  /** By how much, in its logarithm, the density grows from slice to slice. */
  #trend = TREND_AT_FIRST

  /** Rows a µs that the next slice is expected to hold; undefined while no row was seen. */
  get rate(): number | undefined {
    return this.#rows > 0 && this.#length > 0 ? (this.#rows / this.#length) * Math.exp(this.#trend) : undefined
  }

  planned(pageRows: number): number {
    return plannedRows(pageRows, this.#dispersion)
  }

  /** A slice of `length` µs held `rows`. */
  saw(length: number, rows: number): void {
    const { rate } = this
    if (rate === undefined) this.guess(0, 0)
    else {
      const expected = Math.max(1, rate * length)
      if (rows * SURPRISE < expected || rows > expected * SURPRISE) this.guess(0, 0)
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
    // The earlier density is scaled by the trend, so that it is comparable with that of the new slice.
    this.#rows *= Math.exp(this.#trend)
  }

  /** What is known from elsewhere, instead of what slices told. */
  guess(length: number, rows: number): void {
    this.#rows = rows
    this.#length = length
    this.#trend = TREND_AT_FIRST
  }
}
