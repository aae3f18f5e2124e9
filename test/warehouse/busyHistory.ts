/** The history of a report on a service that changes; rowHistory.test.ts and rowHistory.long.test.ts call it. */
import { expect } from 'vitest'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { disagreeing, overlapping } from '../support/history.ts'
import { aTide } from '../support/tide.ts'

export async function busyHistory(report: WorldReport, { rows, runs }: { rows: number; runs: number }): Promise<void> {
  await using tide = await aTide({ sandbox: { rows }, settings: { reports: { [report]: { history: true } } } })
  const { world } = tide.sandbox
  const seen = new Set<string>()
  for (let run = 0; run <= runs; run += 1) {
    await tide.sync(report)
    expect(await disagreeing(tide, report)).toEqual([])
    const held = await tide.warehouse.rows<{ h: string }>(`SELECT hash(t)::VARCHAR AS h FROM main.${report} t`)
    for (const { h } of held) seen.add(h)
    for (let n = 0; n < 25; n += 1) world.tick(report)
  }
  expect(await overlapping(tide, report)).toEqual([])
  const kept = await tide.warehouse.rows<{ h: string }>(
    `SELECT hash(t)::VARCHAR AS h FROM (SELECT * EXCLUDE (_valid_from, _valid_to) FROM history.${report}) t`,
  )
  const hashes = new Set(kept.map(({ h }) => h))
  expect([...seen].filter((h) => !hashes.has(h))).toEqual([])
}
