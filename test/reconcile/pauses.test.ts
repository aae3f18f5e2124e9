/** What the service refuses for good is not asked for again until somebody acts. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { openClient } from '../../src/client/reporting.ts'
import { systemClock } from '../../src/clock.ts'
import { backfillReport } from '../../src/sync/backfill/backfill.ts'
import { pullHere } from '../../src/sync/backfill/handover.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { until } from '../cli/support.ts'
import { differences } from '../../src/cli/certify/compare.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'

/** A later process: its client knows nothing of what was refused before. */
async function laterRun(tide: Tide, identity = tide.context.settings.identity) {
  await using client = openClient(tide.config.service, { clock: systemClock })
  return await syncAll({ ...tide.context, client, settings: { ...tide.context.settings, identity } }, [
    'events',
    'enquiries',
  ])
}

it('pauses a report that answers 403, leaves the others alone, and asks nothing of it at the next run', async () => {
  await using tide = await aTide({ sandbox: { faults: ['403@events'] } })
  const first = await tide.attempt('events', 'enquiries')
  expect(first.map((outcome) => outcome.state)).toEqual(['failed', 'done'])
  tide.sandbox.requests.clear()
  const [paused, running] = await laterRun(tide)
  expect(paused).toMatchObject({ state: 'paused', error: { code: 'REPORT_FORBIDDEN' } })
  expect(paused?.error?.cure).toContain('tidemark resume events')
  expect(running?.state).toBe('done')
  expect(Object.keys(tide.sandbox.requests.counts()).filter((path) => path.includes('EventReport'))).toEqual([])
  const [fresh] = await tide.warehouse.rows<{ because: string }>(
    `SELECT not_running_because AS because FROM tidemark.freshness WHERE report = 'events'`,
  )
  expect(fresh?.because).toContain('403')
})

it('goes on after the report is resumed', { tags: 'long' }, async () => {
  await using tide = await aTide({ sandbox: { faults: ['403@events'] } })
  await tide.attempt('events')
  tide.sandbox.setFaults([])
  await tide.warehouse.resume(['events'])
  const [outcome] = await laterRun(tide)
  expect(outcome?.state).toBe('done')
  expect(await differences(tide.warehouse, tide.sandbox.world, { report: 'events' })).toEqual([])
})

it('tries again by itself with another client or other scopes', { tags: 'long' }, async () => {
  await using tide = await aTide({ sandbox: { faults: ['403@events'] } })
  await tide.attempt('events')
  tide.sandbox.setFaults([])
  const [outcome] = await laterRun(tide, 'demo event.read')
  expect(outcome?.state).toBe('done')
})

it('pauses every report when the credentials are refused, and then asks for no token', async () => {
  await using tide = await aTide({ sandbox: { faults: ['401-always@token'] } })
  const outcomes = await tide.attempt('events', 'enquiries')
  expect(outcomes.map(({ error }) => error?.code)).toEqual(['CREDENTIALS_REFUSED', 'CREDENTIALS_REFUSED'])
  tide.sandbox.requests.clear()
  expect((await laterRun(tide)).map(({ state }) => state)).toEqual(['paused', 'paused'])
  expect(tide.sandbox.requests.total).toBe(0)
})

it('goes on by itself once the file of a refused secret has one that works, and asks once for each that does not', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-'))
  const file = path.join(folder, 'secret')
  await writeFile(file, 'wrong')
  await using tide = await aTide({ env: { REPORTING_CLIENT_SECRET: '', REPORTING_CLIENT_SECRET_FILE: file } })
  for (const secret of ['wrong', 'wrong too']) {
    await writeFile(file, secret)
    expect(await tide.attempt('events')).toMatchObject([{ state: 'failed', error: { code: 'CREDENTIALS_REFUSED' } }])
    tide.sandbox.requests.clear()
    expect([...(await tide.attempt('events')), ...(await laterRun(tide))].map(({ state }) => state)).toEqual([
      'paused',
      'paused',
      'paused',
    ])
    expect(tide.sandbox.requests.total).toBe(0)
  }
  await writeFile(file, 'demo-secret')
  expect(await tide.attempt('events', 'enquiries')).toMatchObject([{ state: 'done' }, { state: 'done' }])
  expect(await tide.warehouse.books.pauses()).toEqual([])
  await rm(folder, { recursive: true })
})

it('a backfill that finds its report paused, or the credentials refused, leaves the pauses as they are', async () => {
  await using tide = await aTide({ sandbox: { faults: ['401-always@token', '403@events'] } })
  await tide.attempt('enquiries')
  const before = await tide.warehouse.books.pauses()
  expect(before.map(({ report }) => report)).toEqual(['enquiries'])
  const range = {
    from: tide.config.reports.enquiries.start,
    to: systemClock.now(),
    lanes: 1,
    pull: pullHere(tide.context),
  }
  for (const report of ['enquiries', 'merf_submissions', 'enquiries'] as const) {
    const backfill = backfillReport(tide.context, { ...range, backfillId: `of ${report}`, report })
    await expect(backfill).rejects.toThrow(/^nothing was asked: token request/)
  }
  expect(await tide.warehouse.books.pauses()).toEqual(before)
})

it('what an operator paused while it ran stays paused by the operator, also when the service then refuses it', async () => {
  await using tide = await aTide({ sandbox: { faults: ['slow:300'] } })
  const running = tide.attempt('events')
  await until(() => tide.sandbox.requests.total > 1, 'the report is asked')
  const words = { code: 'REPORT_PAUSED', reason: 'paused by an operator', cure: 'Run: tidemark resume events' }
  await tide.warehouse.pause({ report: 'events', ...words, client: tide.context.settings.identity }, systemClock.now())
  tide.sandbox.setFaults(['403@events'])
  await running
  await tide.warehouse.resume(['events'], { onlyRefused: true })
  expect((await tide.warehouse.books.pauses()).map(({ code }) => code)).toEqual(['REPORT_PAUSED'])
})
