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

export interface Density {
  readonly rows: number
  readonly length: number
  readonly dispersion: number
  /** Logarithm of the density's growth from slice to slice. Example: 0.03 means about 3 %. */
  readonly trend: number
}

export const UNKNOWN_DENSITY: Density = { rows: 0, length: 0, dispersion: DISPERSION_AT_FIRST, trend: TREND_AT_FIRST }

/** Returns how many rows to plan for a slice of `pages` pages, so that the slice rarely needs one page more. */
export function plannedRows(pageRows: number, dispersion = DISPERSION_AT_FIRST, pages = 1): number {
  const deviation = Math.sqrt(dispersion * pageRows * pages)
  const margin = Math.sqrt(2 * Math.log(Math.max(MARGIN_ONE, (0.35 * pageRows) / deviation)))
  return Math.max(1, Math.floor(pageRows * pages - 1 - margin * deviation))
}

/** Returns the rows per microsecond to expect in the next slice. */
export const rateOf = ({ rows, length, trend }: Density): number | undefined =>
  rows > 0 && length > 0 ? (rows / length) * Math.exp(trend) : undefined

/** Returns the estimate after a slice of `length` µs with `rows` rows. */
export function densityAfter(density: Density, length: number, rows: number): Density {
  const rate = rateOf(density)
  const expected = rate === undefined ? undefined : Math.max(1, rate * length)
  const isUnexpected = expected === undefined || rows * RESTART_FACTOR < expected || rows > expected * RESTART_FACTOR
  const before = isUnexpected
    ? { ...UNKNOWN_DENSITY, dispersion: density.dispersion }
    : compared(density, rows, expected)
  return { ...before, rows: before.rows * DENSITY_MEMORY + rows, length: before.length * DENSITY_MEMORY + length }
}

function compared(density: Density, rows: number, expected: number): Density {
  const scatter = Math.min(SCATTER_MAX, (rows - expected) ** 2 / expected)
  const dispersion = DISPERSION_MEMORY * density.dispersion + (1 - DISPERSION_MEMORY) * scatter
  const deviation = Math.log(rows / expected)
  const isByChance = Math.abs(deviation) < CHANCE_DEVIATIONS / Math.sqrt(expected)
  const grown = density.trend + (isByChance ? TREND_SHARE_BY_CHANCE : TREND_SHARE) * deviation
  const trend = Math.max(-TREND_MAX, Math.min(TREND_MAX, grown))
  return { ...density, dispersion: Math.max(DISPERSION_MIN, dispersion), trend, rows: density.rows * Math.exp(trend) }
}
