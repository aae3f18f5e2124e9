/** Which records of a followed report an audit has to ask about: what loads note, and what asking leaves of it. */
import { expect, it } from 'vitest'
import { auditEntries } from '../../schema/reports/auditEntries.ts'
import { events } from '../../schema/reports/events.ts'
import { aClosedWindow, at, aWarehouse, loadRows, type OpenWarehouse } from '../support/warehouse.ts'

const SETTLE_MS = 30_000
const followers = [{ report: 'audit_entries', scopePrefix: '3:', settleMs: SETTLE_MS }]

/** A load of one event, as it is shown at a time (`HH:MM:SS`) with a stamp. */
const shown = (opened: OpenWarehouse, time: string, { stamp, name = 'one' }: { stamp: string; name?: string }) => {
  const row = { eventId: 7, name, aggregateRecordModified: `2026-03-01T${stamp}Z` }
  return loadRows(opened, events, [row], { observedAt: `2026-03-01T${time}Z`, followers })
}

/** The record's trail was read up to a time. */
const asked = async ({ warehouse }: OpenWarehouse, time: string) => {
  const now = at(`2026-03-01T${time}Z`)
  const closes = [aClosedWindow({ scope: '3:7', until: now, rows: 0, marks: [{ mark: 'since', value: now }] })]
  const audited = [{ scope: '3:7', at: now }]
  await warehouse.load({ kind: 'audit', report: auditEntries, runId: 'run-1', now, closes, entryWindows: [], audited })
}

const due = async ({ warehouse }: OpenWarehouse) => {
  const ask = {
    report: 'audit_entries',
    follows: 'events',
    keyColumn: 'event_id',
    scopePrefix: '3:',
    now: at('2026-03-01T12:00:00Z'),
  }
  return (await warehouse.books.dueRecords(ask)).map(({ scope }) => scope)
}

it("a trail is read again until its record's stamp is older than the settle time", { tags: 'long' }, async () => {
  await using opened = await aWarehouse()
  await shown(opened, '12:00:05', { stamp: '12:00:00' })
  expect(await due(opened)).toEqual(['3:7'])
  await asked(opened, '12:00:10')
  expect(await due(opened)).toEqual(['3:7'])
  await asked(opened, '12:00:31')
  expect(await due(opened)).toEqual([])
})

it('a record that is due stays due when an older stamp of it comes before its trail is read', {
  tags: 'long',
}, async () => {
  await using opened = await aWarehouse()
  await shown(opened, '12:00:05', { stamp: '12:00:00' })
  await asked(opened, '12:01:00')
  await shown(opened, '12:05:00', { stamp: '12:04:50', name: 'two' })
  expect(await due(opened)).toEqual(['3:7'])
  await shown(opened, '12:06:00', { stamp: '12:00:00' })
  expect(await due(opened)).toEqual(['3:7'])
})

it('a record with an earlier time than its trail is due, since the clock was set back', async () => {
  await using opened = await aWarehouse()
  await shown(opened, '12:00:05', { stamp: '11:00:00' })
  await asked(opened, '12:01:00')
  await shown(opened, '12:02:00', { stamp: '11:00:00' })
  expect(await due(opened)).toEqual([])
  await shown(opened, '10:30:00', { stamp: '11:00:00' })
  expect(await due(opened)).toEqual(['3:7'])
})

it('trails that cannot be read do not keep others from being read again', async () => {
  await using opened = await aWarehouse()
  const { warehouse } = opened
  await loadRows(opened, events, [{ eventId: 7 }, { eventId: 8 }], { followers })
  const now = at('2026-03-01T12:00:00Z')
  const trails = ['3:7', '3:8'].map((scope) => ({ scope, at: now }))
  const closes = trails.map(({ scope }) => aClosedWindow({ scope, marks: [{ mark: 'since', value: now }] }))
  const load = { report: auditEntries, runId: 'run-1', now, closes, entryWindows: [], audited: trails }
  await warehouse.load({ kind: 'audit', ...load })
  const skipped = [{ scope: '3:8', code: 'REPORT_FORBIDDEN', reason: 'the service answered 403' }]
  await warehouse.recordSkipped({ report: 'audit_entries', now }, skipped)
  const ask = { report: 'audit_entries', follows: 'events', keyColumn: 'event_id', scopePrefix: '3:', now, again: now }
  const [first] = await warehouse.books.recordsToReadAgain({ ...ask, limit: 1 })
  expect(first).toMatchObject({ scope: '3:7', waitsForRetry: false })
})
