/** Two installations whose settings name the same Redis database by mistake. */
import { expect, it } from 'vitest'
import { aWorkshop, hasSaid, held, OWNS, stop, until } from './support.ts'

const RARELY = { defaults: { every: '1h', reconcile_every: 'never' } }

async function twoInstallations() {
  const first = await aWorkshop({ store: 'redis', settings: RARELY })
  const second = await aWorkshop({ store: first.redis?.url as `redis://${string}`, settings: RARELY })
  return {
    first,
    second,
    [Symbol.asyncDispose]: async () => {
      await second[Symbol.asyncDispose]()
      await first[Symbol.asyncDispose]()
    },
  }
}

it('the worker of a second warehouse on one queue is refused, and takes and adds no job', {
  tags: 'long',
}, async () => {
  await using both = await twoInstallations()
  const { first, second } = both
  const owner = first.worker()
  await until(() => hasSaid(owner, 'published'))
  const refused = await second.worker().ended
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('QUEUE_UNFIT') as unknown })
  expect(refused.stderr).toContain(`${first.folder}/data/warehouse.duckdb`)
  expect(await first.run('backfill', 'events', '--from', '2020-01-01')).toMatchObject({ code: 0 })
  expect(await second.run('backfill', 'events', '--from', '2021-01-01')).toMatchObject({ code: 0 })
  expect(await stop(owner)).toMatchObject({ code: 0 })
  const runs = 'SELECT kind, count(*)::INTEGER AS runs FROM tidemark.runs GROUP BY kind ORDER BY kind DESC'
  // A worker that starts adds an incremental run of each report.
  expect(await held(first, runs)).toEqual([
    { kind: 'incremental', runs: 1 },
    { kind: 'backfill', runs: 1 },
  ])
  expect(await held(second, runs)).toEqual([{ kind: 'backfill', runs: 1 }])
  const next = second.worker()
  await until(() => hasSaid(next, OWNS))
  expect(await stop(next)).toMatchObject({ code: 0 })
})

it('an owner that finds its queue taken by another warehouse after it was frozen ends', { tags: 'long' }, async () => {
  await using both = await twoInstallations()
  const { first, second } = both
  const owner = first.worker()
  await until(() => hasSaid(owner, 'published'))
  owner.kill('SIGSTOP')
  let other = second.worker()
  await until(async () => {
    if (other.said().includes('QUEUE_UNFIT')) {
      await other.ended
      other = second.worker()
    }
    return hasSaid(other, OWNS)
  })
  owner.kill('SIGCONT')
  expect(await owner.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('QUEUE_UNFIT') as unknown })
  expect(await stop(other)).toMatchObject({ code: 0 })
})
