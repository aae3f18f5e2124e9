/**
 * How often tests repeat their work with other seeds. `TIDEMARK_TEST_SEEDS` reduces all repetitions in the same ratio.
 */
const ALL_SEEDS = 500

export const SEEDS = Number(process.env['TIDEMARK_TEST_SEEDS'] ?? ALL_SEEDS)

export const HAS_ALL_SEEDS = SEEDS >= ALL_SEEDS

/** Returns the share of `all` that this run repeats, but at least `least`. */
export const repetitions = (all: number, least: number): number =>
  HAS_ALL_SEEDS ? all : Math.max(least, Math.round((all * SEEDS) / ALL_SEEDS))
