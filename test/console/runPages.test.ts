/** The runs that the console lists, page by page: each page has the runs that began before the last one. */
import { expect, it } from 'vitest'
import { type Instant, plusMs } from '../../src/instant.ts'
import { runsOf } from '../../src/console/bookQueries.ts'
import { NO_RUN_COUNTS } from '../../src/plan/runCounts.ts'
import { aWarehouse, NOON } from '../support/warehouse.ts'

it('lists each run once, also runs that began at the same moment', async () => {
  await using opened = await aWarehouse()
  const { warehouse } = opened
  const begins: readonly Instant[] = [0, 0, 1, 1, 1, 2].map((minutes) => plusMs(NOON, minutes * 60_000))
  for (const [n, startedAt] of begins.entries()) {
    const run = { runId: `run ${n}`, report: 'events', kind: 'incremental', state: 'done', startedAt } as const
    await warehouse.recordRun({ ...run, endedAt: plusMs(startedAt, 1_000), ...NO_RUN_COUNTS })
  }
  const listed: string[] = []
  for (let before: string | undefined; ; ) {
    const page = await runsOf(warehouse, { limit: 2, before })
    listed.push(...page.map((run) => run.run_id))
    before = page.at(-1)?.started_at
    if (before === undefined) break
  }
  expect(listed).toEqual(['run 5', 'run 2', 'run 3', 'run 4', 'run 0', 'run 1'])
})
