/**
 * The soak of `npm run soak`, half a minute long: enough kills, a freeze and a restart of Redis to see that it tells
 * the truth. And some days of `npm run soak:year`.
 * @module-tag long
 */
import { expect, it } from 'vitest'
import { soak } from '../../tools/soak/soak.ts'
import { brokenBounds } from '../../tools/soak/year/bounds.ts'
import { soakYear, type YearRow } from '../../tools/soak/year/year.ts'

/** Almost four days. With fewer ticks, entries that are kept for a day still grow at the end. */
const TICKS = 100

it('workers that are killed, frozen and cut off from Redis keep every promise', { timeout: 600_000 }, async () => {
  const ended = await soak({
    seconds: 25,
    workers: 3,
    seed: 3,
    changesPerSecond: 50,
    killEverySeconds: 5,
    freezeSeconds: 5,
    lockMs: 1_500,
    tell: () => undefined,
  })
  expect(ended.broken).toEqual([])
  expect(ended.kills.owner + ended.kills.other).toBeGreaterThan(1)
  expect(ended.rows).toBeGreaterThan(2_000)
  expect(ended.walks).toBeGreaterThan(5)
})

it('no table, job, file of logs or open handle of a worker grows for ever', { timeout: 900_000 }, async () => {
  const historyDays = 1
  const { rows, failures } = await soakYear({
    ticks: TICKS,
    sampleEvery: TICKS / 5,
    historyDays,
    onSample: () => undefined,
  })
  expect([...failures.keys()]).toEqual([])
  expect(rows).toHaveLength(5)
  // Sizes of files and of memory become level only in a longer soak.
  expect(brokenBounds(rows, historyDays).filter((line) => !line.includes('bytes'))).toEqual([])
})

const samplesWith = (values: readonly number[], name: string): YearRow[] =>
  values.map((value, place) => ({ tick: place, sample: { [name]: value } }))

it('a value that grows in the last quarter, or beyond its limit, or that nobody has a bound for, is found', () => {
  expect(brokenBounds(samplesWith([10, 900, 900, 905], 'tidemark.loads'), 1)).toEqual([])
  expect(brokenBounds(samplesWith([10, 900, 900, 999], 'tidemark.loads'), 1)).toEqual([
    'tidemark.loads grew from 900 to 999 in the last quarter',
  ])
  expect(brokenBounds(samplesWith([0, 1, 0, 0], 'staging entries'), 1)).toEqual(['staging entries: 1 is more than 0'])
  expect(brokenBounds(samplesWith([1], 'moons'), 1)).toEqual(['moons has no bound'])
})
