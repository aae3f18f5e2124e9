/** `tidemark status` explains: why there are no rows, why nothing runs, and what comes next, when. */
import { describe, expect, it } from 'vitest'
import { aWorkshop, hasSaid, stop, until } from '../jobs/support.ts'
import { missedText } from '../../src/cli/standingText.ts'
import { aWorldWithoutCollections as aWorld } from './support.ts'

it('says why a report holds no rows, and that nothing reads by itself without a worker', { tags: 'long' }, async () => {
  await using world = await aWorld({ settings: { reports: { events: { filters: { companyId: 987_654_321 } } } } })
  await world.run('sync', 'events', '--quiet')
  const { stdout } = await world.run('status')
  expect(stdout).toMatch(/^events: 0 rows because the service returned none that the configuration requests\./m)
  expect(stdout).toMatch(
    /^audit_entries is off: no entities are configured\n {2}what to do: .*reports\.audit_entries\.entities/m,
  )
  expect(stdout).toContain('No worker runs, so nothing is read by itself: "tidemark worker" starts one')
})

it('says why a report is paused and what to do, whoever paused it', { tags: 'long' }, async () => {
  await using world = await aWorld({ sandbox: { faults: ['403@enquiries'] } })
  await world.run('sync', 'events', 'enquiries', '--quiet')
  await world.run('pause', 'events')
  const { stdout } = await world.run('status')
  expect(stdout).toMatch(/^events is paused: paused by an operator\n {2}what to do: Run: tidemark resume events$/m)
  expect(stdout).toMatch(/^enquiries is paused: .*403.*\n {2}what to do: .*resume enquiries/m)
})

describe.each([
  [403, 'REPORT_FORBIDDEN', {}],
  [404, 'STATUS_UNEXPECTED', { tags: 'long' }],
])('an enquiry whose audit trail answers %i', (status, code, options) => {
  it('is named as skipped; the report is done', options, async () => {
    await using world = await aWorld({ sandbox: { rows: 8, faults: [`record-${status}:20003`] } })
    const { code: exit, stdout } = await world.run('sync', 'enquiries', 'enquiry_audit_entries')
    expect([exit, stdout]).toEqual([0, expect.stringMatching(/^enquiry_audit_entries +done/m)])
    expect((await world.run('status')).stdout).toContain(
      `enquiry_audit_entries: skipped, and tried again by itself: 20003 (${code})\n`,
    )
  })
})

it('says when the schedule asks for each report next', { tags: 'long', timeout: 120_000 }, async () => {
  await using shop = await aWorkshop({
    store: 'embedded',
    settings: { defaults: { every: '1h', reconcile_every: '7d' } },
  })
  const worker = shop.worker()
  await until(() => hasSaid(worker, 'published'))
  const { stdout } = await shop.run('status')
  const at = String.raw`in [^(]+\(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\)`
  expect(stdout).toMatch(new RegExp(`^events: next run ${at}, reconcile ${at}$`, 'm'))
  expect(stdout).not.toMatch(/^enquiries: next run/m)
  const { next } = (await shop.status()) as unknown as { next: object[] }
  expect(next).toContainEqual(expect.objectContaining({ report: 'events', work: 'incremental' }))
  await shop.run('pause', 'events')
  expect((await shop.run('status')).stdout).toMatch(/^events: no run until it is resumed$/m)
  await stop(worker)
})

it.each([
  [null, null, undefined],
  [0, 0, undefined],
  [1, 0, 'the last reconcile read 1 row that no earlier run had found'],
  [0, 2, 'the last reconcile corrected 2 rows whose edit no earlier run had read'],
  [
    3,
    1,
    'the last reconcile read 3 rows that no earlier run had found and corrected 1 row whose edit no earlier run had read',
  ],
])('after a reconcile that found %s rows missing and %s different, the text is %j', (missed, differed, words) => {
  expect(missedText({ reconcile_missed: missed, reconcile_differed: differed })).toBe(words)
})
