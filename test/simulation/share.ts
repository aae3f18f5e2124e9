/**
 * The seeds of the tests. The short tests run 36 of the first 64, the long ones all others, most of them in shares of equal size.
 * Seeds of the corpus that are not among these 500 run beside them. They are the same each time, so that a failure can
 * be repeated.
 */
import { describe, expect, it } from 'vitest'
import { HAS_ALL_SEEDS, SEEDS } from '../support/repeats.ts'
import { CORPUS, type CorpusSeed } from './corpus.ts'
import { failureText } from './failure.ts'
import { simulate } from './simulate.ts'

const SHORT_SEEDS = 64
/** These take several times as long as the short ones. They run with the long corpus. */
const LONG_SEEDS: readonly number[] = [4, 7, 8, 23, 33, 37, 38, 39, 51, 53, 54, 55, 56, 57, 58, 59, 60, 62]
/** These ten take as long as 40 others together. They run with the long corpus, all of them only with all seeds. */
const SLOW_SEEDS: readonly number[] = [2, 12, 13, 14, 17, 22, 25, 28, 32, 36]
/** Long test files in seeds/. */
const SHARES = 5
/** Seeds of the corpus that take less than two seconds each. */
const SHORT_CORPUS: readonly number[] = [1310, 3_003, 5_475, 9_394]
const TEST_MS_MAX = 10 * 60_000
/** Few enough that a failed test names a short range to look at. */
const SEEDS_A_TEST = 20

async function pass(seed: number): Promise<void> {
  const result = await simulate(seed, { historyLines: 60 })
  expect(result.broken, failureText(result)).toEqual([])
}

/** Runs the cheap seeds of the corpus. */
export const runShortCorpus = (): void => runCorpus(({ seed }) => SHORT_CORPUS.includes(seed))

/** Runs the other seeds of the corpus, the slow ones only with all seeds. Those up to `SEEDS` run in the shares. */
export const runLongCorpus = (): void =>
  runCorpus(({ seed, isSlow = false }) => seed > SEEDS && !SHORT_CORPUS.includes(seed) && (HAS_ALL_SEEDS || !isSlow))

function runCorpus(isRun: (corpusSeed: CorpusSeed) => boolean): void {
  describe('the warehouse keeps its promises in the simulated world', () => {
    it.each(CORPUS.filter(isRun))('of seed $seed, which found: $found', { timeout: TEST_MS_MAX }, ({ seed }) =>
      pass(seed),
    )
  })
}

/** Runs a seed twice and compares all that it did. */
export function repeatsItself(seed: number): void {
  it(`seed ${seed} has the same history each time`, { timeout: TEST_MS_MAX }, async () => {
    const [first, again] = [await simulate(seed, { historyLines: 400 }), await simulate(seed, { historyLines: 400 })]
    expect(again.history).toEqual(first.history)
    expect(again.figures).toEqual(first.figures)
    expect([...again.tally.counts]).toEqual([...first.tally.counts])
  })
}

export const runShortSeeds = (): void =>
  runSeeds(1, SHORT_SEEDS + 1, (seed) => !LONG_SEEDS.includes(seed) && !SLOW_SEEDS.includes(seed))

export const runSlowSeeds = (): void =>
  runSeeds(
    1,
    SHORT_SEEDS + 1,
    (seed) => LONG_SEEDS.includes(seed) || (HAS_ALL_SEEDS ? SLOW_SEEDS.includes(seed) : seed === SLOW_SEEDS[0]),
  )

/** Runs one share of the long seeds; `share` counts from 1. */
export function runShare(share: number): void {
  runSeeds(firstSeedOf(share), firstSeedOf(share + 1))
}

const firstSeedOf = (share: number): number =>
  SHORT_SEEDS + 1 + Math.round(((share - 1) * (SEEDS - SHORT_SEEDS)) / SHARES)

/** `end` is the first seed that is not run. */
function runSeeds(from: number, end: number, isRun: (seed: number) => boolean = () => true): void {
  const seeds = Array.from({ length: end - from }, (_, n) => from + n).filter(isRun)
  const groups = Array.from({ length: Math.ceil(seeds.length / SEEDS_A_TEST) }, (_, group) => {
    const own = seeds.slice(group * SEEDS_A_TEST, (group + 1) * SEEDS_A_TEST)
    return { own, first: own[0], last: own.at(-1) }
  })
  describe('the warehouse keeps its promises in the simulated world', () => {
    it.each(groups)('of seeds $first to $last', { timeout: TEST_MS_MAX }, async ({ own }) => {
      for (const seed of own) await pass(seed)
    })
  })
}
