/** What `status`, `check` and `retry-rejected` say of what the books know: coverage, late rows, rejected rows. */
import path from 'node:path'
import { expect, it } from 'vitest'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aWorldWithoutCollections as aWorld, type World } from './support.ts'

const MINUTE_MS = 60_000

interface Told {
  readonly report: string
  readonly lag_seconds: number | null
  readonly late_rows: number | null
  readonly largest_lateness_seconds: number | null
  readonly advised_overlap: string | null
  readonly coverage: readonly {
    readonly covered: readonly { since: string | null; until: string }[]
    readonly gaps: readonly { since: string; until: string }[]
    readonly reading_again: { because: string[]; records: number | null } | null
  }[]
}

async function statusOf(world: World): Promise<(report: string) => Told | undefined> {
  const { reports } = JSON.parse((await world.run('status', '--json')).stdout) as { reports: Told[] }
  return (report) => reports.find((each) => each.report === report)
}

const change = async (world: World, sql: string): Promise<void> => {
  await using warehouse = await Warehouse.open({
    path: path.join(world.folder, 'data/warehouse.duckdb'),
    memory: '256MB',
  })
  await warehouse.rows(sql)
}

it('status shows what is covered, a gap, and what is read again because the configuration changed', {
  tags: 'long',
}, async () => {
  await using world = await aWorld()
  await world.run('sync', 'events', 'enquiries', 'enquiry_audit_entries')
  const first = await world.run('status')
  expect(first.stdout).toMatch(/^events: covered 2000-01-01T00:00:00Z … 20\d\d-\S+Z$/m)
  expect(first.stdout).toMatch(/^enquiries: covered everything up to 20\d\d-\S+Z$/m)
  expect(first.stdout).not.toContain('again')
  expect(first.stdout).toContain('no run notices late rows of: enquiry_audit_entries')
  const gap = `'2021-03-01 00:00:00+00' AS since`
  await change(
    world,
    `UPDATE tidemark.covered SET since = '2021-03-02 00:00:00+00' WHERE report = 'events';
     INSERT INTO tidemark.covered SELECT report, scope, '2000-01-01 00:00:00+00', since FROM (
       SELECT report, scope, ${gap} FROM tidemark.covered WHERE report = 'events')`,
  )
  await world.configure({
    defaults: { start: '1999-01-01T00:00:00Z' },
    reports: { enquiry_audit_entries: { expand: [] } },
  })
  const { stdout } = await world.run('status')
  expect(stdout).toMatch(
    /^events: covered 2000.*; gap 1999-01-01T00:00:00Z – 2000-01-01T00:00:00Z; gap 2021-03-01T00:00:00Z – 2021-03-02T00:00:00Z$/m,
  )
  expect(stdout).toMatch(/^events: reading again 1999-01-01T00:00:00Z … 20\d\d-\S+Z because start changed$/m)
  expect(stdout).toMatch(/^enquiries: reading again everything up to 20\d\d-\S+Z because start changed$/m)
  expect(stdout).toMatch(/^enquiry_audit_entries: reading the trails of \d+ records again because start changed$/m)
  const told = await statusOf(world)
  expect(told('events')?.coverage).toMatchObject([
    { covered: [{}, {}], gaps: [{}, {}], reading_again: { because: ['start'], records: null } },
  ])
  await world.run('sync', 'events', 'enquiries', 'enquiry_audit_entries')
  const after = await world.run('status')
  expect(after.stdout).toMatch(/^events: covered 1999-01-01T00:00:00Z … 20\d\d-\S+Z$/m)
  expect(after.stdout).not.toContain('again')
})

it('a currency that is asked for no more holds back neither mark nor lag, and status says that it stands still', {
  tags: 'long',
}, async () => {
  const settings = { currencies: ['EUR', 'USD'] }
  await using world = await aWorld({ settings })
  await world.run('sync', 'budgets')
  await change(
    world,
    `UPDATE tidemark.marks SET value = value - INTERVAL 3 DAYS WHERE scope = 'USD';
     UPDATE tidemark.coverage SET refill_until = '2020-01-01 00:00:00+00', because = 'start' WHERE scope = 'USD'`,
  )
  const days = async () => Math.floor(((await statusOf(world))('budgets')?.lag_seconds ?? -1) / 86_400)
  expect(await days()).toBe(3)
  await world.configure({ currencies: ['EUR'] })
  await world.run('sync', 'budgets')
  expect(await days()).toBe(0)
  const { stdout } = await world.run('status')
  expect(stdout).toMatch(/^budgets EUR: covered 2000\S+ … 20\d\d-\S+Z$/m)
  expect(stdout).toMatch(/^budgets USD: covered 2000\S+ … 20\d\d-\S+Z; no longer requested$/m)
  expect(stdout).not.toContain('again')
  const told = await world.run(
    'query',
    '--format',
    'csv',
    `SELECT explained FROM tidemark.freshness WHERE report = 'budgets'`,
  )
  expect(told.stdout).not.toContain('again')
  await world.configure(settings)
  await world.run('sync', 'budgets')
  expect(await days()).toBe(0)
  expect((await world.run('status')).stdout).not.toContain('no longer requested')
})

it('status does not take a report with hashed columns for one that is read again', { tags: 'long' }, async () => {
  const settings = { reports: { events: { columns: { town: 'hash' } } } }
  await using world = await aWorld({ settings, env: { TIDEMARK_HASH_KEY: 'a key of enough characters' } })
  await world.run('sync', 'events')
  expect((await world.run('status')).stdout).not.toContain('again')
})

it('late rows are told by sync, by status and by check, with the overlap to set', async () => {
  await using world = await aWorld()
  await world.run('sync', 'events')
  world.sandbox.world.lateCommit('events', 6.5 * MINUTE_MS)
  expect((await world.run('sync', 'events')).stdout).toMatch(
    /^events: 1 row came late; one was shown at least 6 min(?: \d+ s)? after its stamp$/m,
  )
  const told = (await statusOf(world))('events')
  expect(told).toMatchObject({ late_rows: 1, advised_overlap: '15m' })
  expect(told?.largest_lateness_seconds).toBeGreaterThan(300)
  const advice = /^ *events: .*set overlap to 15m \(reports\.events\.overlap, or defaults\.overlap\)$/m
  expect((await world.run('status')).stdout).toMatch(advice)
  const checked = await world.run('check')
  expect(checked.code).toBe(0)
  expect(checked.stdout).toMatch(/^overlap +warn +events: one was shown at least/m)
  expect(checked.stdout).toContain('set overlap to 15m (reports.events.overlap, or defaults.overlap)')
})

it('a row and an edit that only a reconcile found are named by status and by check', { tags: 'long' }, async () => {
  await using world = await aWorld()
  await world.run('sync', 'events')
  expect((await world.run('check')).stdout).toContain('no run noticed a late row')
  const service = world.sandbox.world
  service.lateCommit('events', 180 * MINUTE_MS)
  service.silentEdit('events', service.liveKeys('events')[0] as number)
  await world.run('sync', 'events')
  expect((await statusOf(world))('events')).toMatchObject({ late_rows: 0, reconcile_missed: null })
  await world.run('reconcile', 'events')
  expect((await statusOf(world))('events')).toMatchObject({
    late_rows: 0,
    reconcile_missed: 1,
    reconcile_differed: 1,
  })
  const found =
    'events: the last reconcile read 1 row that no earlier run had found and corrected 1 row whose edit no earlier run had read'
  expect((await world.run('status')).stdout).toContain(found)
  expect((await world.run('check')).stdout).toMatch(new RegExp(`^overlap +warn +${found}`, 'm'))
})

it('retry-rejected tells rows of which nothing was kept, in place of saying that there are none', {
  tags: 'long',
}, async () => {
  await using world = await aWorld({ settings: { reports: { events: { exclude_payload: true } } } })
  const { world: service } = world.sandbox
  service.putRow('events', service.liveKeys('events')[0] as number, { eventId: '"many"' })
  await world.run('sync', 'events')
  const { code, stdout } = await world.run('retry-rejected', 'events')
  expect([code, stdout]).toEqual([
    0,
    'events: 1 rejected row is kept without values (exclude_payload) and can not be loaded again; once the cause is mended: tidemark reconcile events\n',
  ])
  expect(JSON.parse((await world.run('retry-rejected', 'events', '--json')).stdout)).toEqual({
    reports: [{ report: 'events', tried: 0, loaded: 0, rejected: 0, withheld: 1 }],
  })
})

it('retry-rejected loads what can be stored by now, says what can not, and publishes', { tags: 'long' }, async () => {
  await using world = await aWorld()
  const { world: service } = world.sandbox
  const [mended, refused] = service.liveKeys('events') as [number, number]
  service.putRow('events', mended, { eventId: '"twelve"' })
  service.putRow('events', refused, { eventId: '"many"' })
  await world.run('sync', 'events')
  await change(
    world,
    `UPDATE tidemark.rejected_rows SET row = replace(row::VARCHAR, '"twelve"', '${mended}')::JSON WHERE row::VARCHAR LIKE '%"twelve"%'`,
  )
  const { code, stdout } = await world.run('retry-rejected', 'events')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^events +2 +1 +1$/m)
  expect(stdout).toContain('1 row can not be stored yet')
  expect(stdout).toContain('if the service has mended them since: tidemark reconcile ')
  const held = await world.run('query', '--format', 'csv', `SELECT event_id FROM events WHERE event_id = ${mended}`)
  expect(held.stdout).toBe(`event_id\n${mended}\n`)
  const again = await world.run('retry-rejected', '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({
    reports: expect.arrayContaining([{ report: 'events', tried: 1, loaded: 0, rejected: 1 }]) as unknown,
  })
  expect((await world.run('retry-rejected', 'event')).code).toBe(2)
})

it('rejected dismiss ends the listing of rows, which stay counted, also when they come again', {
  tags: 'long',
}, async () => {
  await using world = await aWorld()
  const { world: service } = world.sandbox
  const [first, second] = service.liveKeys('events') as [number, number]
  service.putRow('events', first, { town: '"a","town":"b"' })
  service.putRow('events', second, { eventId: 'null' })
  await world.run('sync', 'events')
  expect((await world.run('status')).stdout).toContain('events: 2 rows could not be stored; tidemark.rejected_rows')
  const figures = async () => {
    const found = await world.run(
      'query',
      '--format',
      'csv',
      "SELECT rejected, dismissed FROM tidemark.freshness WHERE report = 'events'",
    )
    return found.stdout.trim().split('\n')[1]
  }
  expect(await figures()).toBe('2,0')
  const one = await world.run('rejected', 'dismiss', 'events', String(first))
  expect([one.code, one.stdout, await figures()]).toEqual([0, 'events: 1 rejected row dismissed\n', '1,1'])
  const retried = await world.run('retry-rejected', 'events', '--json')
  expect(JSON.parse(retried.stdout)).toMatchObject({ reports: [{ tried: 1, loaded: 0, rejected: 1 }] })
  expect((await world.run('rejected', 'dismiss')).stdout).toBe('events: 1 rejected row dismissed\n')
  service.edit('events', first)
  await world.run('sync', 'events')
  expect(await figures()).toMatch(/^[01],2$/)
  expect((await world.run('rejected', 'dismiss')).code).toBe(0)
  expect((await world.run('rejected', 'list')).code).toBe(2)
})

it('a run ends the listing of rejected rows of all reports that did not come for a time', {
  tags: 'long',
}, async () => {
  await using world = await aWorld({ settings: { rejected_keep: '30d' } })
  const { world: service } = world.sandbox
  for (const key of service.liveKeys('events').slice(0, 2)) service.putRow('events', key, { eventId: `"x${key}"` })
  await world.run('sync', 'events')
  await change(world, `UPDATE tidemark.rejected_rows SET observed_at = observed_at - INTERVAL 31 DAY WHERE rowid = 0`)
  await world.run('sync', 'enquiries')
  const found = await world.run(
    'query',
    '--format',
    'csv',
    "SELECT rejected, dismissed FROM tidemark.freshness WHERE report = 'events'",
  )
  expect(found.stdout).toContain('\n1,1\n')
})
