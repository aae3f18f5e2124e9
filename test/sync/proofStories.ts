/**
 * Proven walks (product contract §5.4) as functions of a report and a size. proof.test.ts calls them with the smallest
 * worlds that can fail, and proof.long.test.ts with larger ones.
 */
import { expect } from 'vitest'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { bodiesOf, differencesButAbsence, differencesOf, failureOf, spread, stampAlike } from './stories.ts'

export const EUR = { currencies: ['EUR'] }
const REQUESTS_MAX = 700

/** Rows of a page, and pages. */
export interface Size {
  readonly pageSize: number
  readonly pages: number
}

/** A Tidemark on a service with lean rows. */
export const aLeanTide = (rows: number, page_size: number, faults: string[] = []): Promise<Tide> =>
  aTide({ sandbox: { rows, collections: false, faults }, settings: { ...EUR, defaults: { page_size } } })

/** Requests of a report's latest run by modification, without those for a difference or by creation. */
const asked = (tide: Tide, report: WorldReport): number =>
  bodiesOf(tide, report).filter((body) => body.includeDeleted !== false && !isThird(body) && !('createdSince' in body))
    .length

/** Requests for a span's keys without deleted rows, to tell which may be deleted. */
const secondReads = (tide: Tide, report: WorldReport) =>
  bodiesOf(tide, report).filter(({ includeDeleted }) => includeDeleted === false)

/** Whether a request is for stamps with deleted rows, where some are missing from the second read. */
const isThird = (body: ReturnType<typeof bodiesOf>[number]): boolean =>
  body.includeDeleted === true && !('expand' in body)

export async function firstSyncOfEnvelope({ pageSize, pages }: Size): Promise<void> {
  await using tide = await aLeanTide(pages * pageSize - 7, pageSize)
  await tide.sync('merf_submissions')
  expect(bodiesOf(tide, 'merf_submissions').length).toBeLessThanOrEqual(1.1 * pages)
}

export async function firstSyncOfArray(report: WorldReport, { pageSize, pages }: Size): Promise<void> {
  await using tide = await aLeanTide(pages * pageSize - 7, pageSize)
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  // Two more tell what pages count from, once and for all.
  expect(asked(tide, report)).toBeLessThanOrEqual(1.4 * pages + 2)
  // The second read knows about how many rows will come, so it finds the last page at once.
  expect(secondReads(tide, report).length).toBeLessThanOrEqual(1.2 * pages)
  // The third read takes only pages with missing rows.
  expect(bodiesOf(tide, report).filter(isThird).length).toBeLessThanOrEqual(pages)
}

export async function firstSyncOfManyPages(rows: number): Promise<void> {
  const pages = 150
  await using tide = await aLeanTide(pages * rows - 7, rows)
  await tide.sync('events')
  expect(asked(tide, 'events')).toBeLessThanOrEqual(1.15 * pages)
  const [brought] = await tide.warehouse.rows(
    `SELECT sum(rows)::INTEGER AS rows FROM tidemark.windows WHERE report = 'events'`,
  )
  expect(brought).toEqual({ rows: pages * rows - 7 })
}

export async function youngWindow(report: WorldReport, { pageSize, pages }: Size): Promise<void> {
  await using tide = await aLeanTide(pageSize * pages, pageSize)
  await tide.sync(report)
  const rows = Math.floor((pages * pageSize * 5) / 6)
  spread(tide, report, { rows, minutes: 9 })
  tide.sandbox.requests.clear()
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  const least = Math.ceil(rows / pageSize)
  expect(asked(tide, report)).toBeLessThanOrEqual(1.4 * least)
  expect(secondReads(tide, report).length).toBeLessThanOrEqual(1.4 * least)
}

export async function manyLoads(report: WorldReport, times: number): Promise<void> {
  const pages = 150
  const settings = { ...EUR, defaults: { page_size: 50 }, limits: { load_rows_max: 3_000 } }
  await using tide = await aTide({ sandbox: { rows: pages * 50 - 7, collections: false }, settings })
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  expect(asked(tide, report)).toBeLessThanOrEqual(times * pages)
}

/** A run that can't end because rows keep moving: it may say so, but not for ever, and not with a window closed. */
const mayFail = (fault: string): boolean => fault.startsWith('drift')

/** Runs a report so often under the fault, then once without. */
export async function underFault(report: WorldReport, fault: string, runs: number): Promise<void> {
  await using tide = await aLeanTide(240, 20, [fault])
  for (let run = 0; run < runs; run += 1) {
    tide.sandbox.requests.clear()
    const outcomes = await tide.attempt(report)
    if (outcomes[0]?.state === 'failed' && mayFail(fault))
      expect(failureOf(outcomes, report).code).toBe('WALK_UNSTABLE')
    else {
      expect(outcomes[0]?.error?.message).toBeUndefined()
      if (!mayFail(fault)) expect(await differencesOf(tide, report), `run ${run + 1}`).toEqual([])
    }
    expect(tide.sandbox.requests.total).toBeLessThan(REQUESTS_MAX)
    spread(tide, report, { rows: 45, minutes: 3 })
  }
  tide.sandbox.setFaults([])
  await tide.sync(report)
  expect(await differencesButAbsence(tide, report)).toEqual([])
}

export async function cappedService(report: WorldReport, cap: number): Promise<void> {
  await using tide = await aLeanTide(243, 20, [`cap:${cap}`])
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  expect(tide.sandbox.requests.total).toBeLessThan(REQUESTS_MAX)
}

export async function firstPageThatLosesRows(report: WorldReport): Promise<void> {
  // 12 pages: of 60 changes behind the first answer, some take rows off its page, and others move up to it.
  await using tide = await aLeanTide(240, 20, [`drift*1@${report}:60`])
  await tide.sync(report)
  await tide.sync(report)
  expect(await differencesButAbsence(tide, report)).toEqual([])
}

/** Edits so many rows, and gives all of them one stamp. */
export function stampTogether(tide: Tide, report: WorldReport, rows: number): void {
  const { world } = tide.sandbox
  const keys = world.liveKeys(report).slice(0, rows)
  for (const key of keys) world.edit(report, key)
  stampAlike(tide, report, keys)
}

export async function oneInstantAgreed(report: WorldReport): Promise<void> {
  await using tide = await aLeanTide(200, 20)
  await tide.sync(report)
  stampTogether(tide, report, 70)
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  const proofs = await tide.warehouse.rows<{ proof: string }>('SELECT DISTINCT proof FROM tidemark.windows')
  expect(proofs.map(({ proof }) => proof)).toContain('agreed')
}

export async function oneInstantInLargerPage(fault: string): Promise<void> {
  await using tide = await aLeanTide(200, 20)
  await tide.sync('events')
  stampTogether(tide, 'events', 70)
  tide.sandbox.setFaults([fault])
  tide.sandbox.requests.clear()
  await tide.sync('events')
  expect(await differencesOf(tide, 'events')).toEqual([])
  expect(tide.sandbox.requests.total).toBeLessThan(150)
}

/** No bound of time separates these rows, no page holds them all, and their pages can't be told apart. */
export async function oneInstantUnstable(fault: string): Promise<void> {
  await using tide = await aLeanTide(200, 20)
  await tide.sync('events')
  stampTogether(tide, 'events', 70)
  tide.sandbox.setFaults([fault, 'clamp-silent:20'])
  tide.sandbox.requests.clear()
  const failed = failureOf(await tide.attempt('events'), 'events')
  expect(failed.code).toBe('WALK_UNSTABLE')
  expect(failed.message).toMatch(/walks over .* did not agree/)
  expect(failed.cure).toMatch(/larger page_size/)
  expect(tide.sandbox.requests.total).toBeLessThan(150)
  tide.sandbox.setFaults([])
  await tide.sync('events')
  expect(await differencesOf(tide, 'events')).toEqual([])
}
