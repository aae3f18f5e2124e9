/**
 * The soak of `npm run soak`, half a minute long: enough kills, a freeze and a restart of Redis to see that it tells
 * the truth.
 * @module-tag long
 */
import { expect, it } from 'vitest'
import { soak } from '../../tools/soak/soak.ts'

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
