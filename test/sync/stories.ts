/**
 * What the tests of this room ask of a Tidemark again and again: what differs, what was asked, where the marks stand.
 */
import { expect } from 'vitest'
import { type ReportName, reportOf } from '../../schema/index.ts'
import { WORLD_REPORTS, type WorldReport } from '../../src/sandbox/server.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'
import { differences } from '../../src/cli/certify/compare.ts'
import type { Tide } from '../support/tide.ts'

export { WORLD_REPORTS }

/** The part of a Tidemark that differences are about. */
export type Compared = Pick<Tide, 'warehouse' | 'sandbox' | 'config'>

/** All differences between the reports' tables and the service, in every configured currency. */
export async function differencesOf(tide: Compared, ...reports: WorldReport[]): Promise<string[]> {
  const found: string[] = []
  for (const report of reports) {
    const currencies =
      reportOf(report).currency !== undefined ? (tide.config.currencies as ('EUR' | 'USD')[]) : [undefined]
    for (const currency of currencies) {
      const compared = currency === undefined ? { report } : { report, currency }
      found.push(...(await differences(tide.warehouse, tide.sandbox.world, compared)))
    }
  }
  return found
}

/** The same for reports whose deleted rows just stop appearing: those are for a reconcile to find (contract §4). */
export const differencesButAbsence = async (tide: Compared, ...reports: WorldReport[]): Promise<string[]> =>
  (await differencesOf(tide, ...reports)).filter((each) => !each.endsWith('the service does not have it'))

/** The one outcome of a run that failed, checked to be fit for people: what happened, what to do, no secret. */
export function failureOf(outcomes: readonly ReportOutcome[], report: ReportName) {
  const outcome = outcomes.find((each) => each.report === report)
  expect(outcome, `${report} ran`).toBeDefined()
  expect(outcome?.state, `${report} failed`).toBe('failed')
  const error = outcome?.error
  expect(error?.message).toMatch(/\w{3}/)
  expect(error?.cure).toMatch(/^[A-Z].{20,}/)
  expect(JSON.stringify(error) + String(error?.stack) + String(error?.cause)).not.toMatch(
    /demo-secret|eyJ[\w-]{8}|[Bb]earer/,
  )
  return { code: error?.code, message: error?.message ?? '', cure: error?.cure ?? '', data: error?.data ?? {} }
}

export interface Body {
  readonly modifiedSince?: string
  readonly modifiedUntil?: string
  readonly createdSince?: string
  readonly createdUntil?: string
  readonly includeDeleted?: boolean
  readonly pageNumber?: number
  readonly pageSize?: number
  readonly [parameter: string]: unknown
}

export const pathOf = (report: WorldReport): string => `/reportingapi${reportOf(report).path}`

/** Bodies of the requests for a report, oldest first. */
export const bodiesOf = ({ sandbox }: Pick<Tide, 'sandbox'>, report: WorldReport): Body[] =>
  sandbox.requests
    .list()
    .filter(({ path }) => path === pathOf(report))
    .map(({ body }) => JSON.parse(body) as Body)

export const microsOf = (isoTime: string): number => {
  const [, whole = '', fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(isoTime) ?? []
  return Date.parse(`${whole}Z`) * 1_000 + Number(fraction.slice(0, 6).padEnd(6, '0'))
}

/** Gives the rows the stamps of one that is added, as a bulk import does. */
export function stampAlike({ sandbox: { world } }: Tide, report: WorldReport, keys: readonly number[]): void {
  const { modified } = world.stampsOf(report, world.insert(report).key)
  for (const key of keys) world.setStamps(report, key, modified)
}

/** Stamps rows of the report evenly into the minutes before now. */
export function spread(tide: Tide, report: WorldReport, { rows, minutes }: { rows: number; minutes: number }): void {
  const { world } = tide.sandbox
  const keys = world.liveKeys(report).slice(0, rows)
  const { modified: now } = world.stampsOf(report, world.insert(report).key)
  for (const [n, key] of keys.entries()) {
    world.edit(report, key)
    world.setStamps(report, key, now - Math.floor((n * minutes * 600_000_000) / rows))
  }
}
