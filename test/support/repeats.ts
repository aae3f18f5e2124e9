/**
 * How often tests repeat what they do with other seeds or at other moments. `TIDEMARK_TEST_SEEDS` sets the number of
 * seeds of the simulation, for machines that have less time; kills and other repetitions shrink in the same ratio.
 */
const ALL_SEEDS = 500

export const SEEDS = Number(process.env['TIDEMARK_TEST_SEEDS'] ?? ALL_SEEDS)

/** Whether this run has all seeds, and so the repetitions that take longest. */
export const HAS_ALL_SEEDS = SEEDS >= ALL_SEEDS

/** Returns `all` if this run has all seeds, else the same share of it as of the seeds, but at least `least`. */
export const repetitions = (all: number, least: number): number =>
  HAS_ALL_SEEDS ? all : Math.max(least, Math.round((all * SEEDS) / ALL_SEEDS))
