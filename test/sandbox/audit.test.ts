/** The two audit reports (spec §2 audit entry, §4 AuditReport and EnquiryReport/{enquiryId}/Audit, §7). */
import { describe, expect, it } from 'vitest'
import { ENTITY_IDS, type WorldReport } from '../../src/sandbox/server.ts'
import { formatTicks } from '../../src/sandbox/ticks.ts'
import { aCaller, type Body, type Caller, type Envelope, type Row } from './caller.ts'
import { HandClock } from './handClock.ts'

const EVER = { since: '2000-01-01T00:00:00Z' }
const reports = Object.keys(ENTITY_IDS) as WorldReport[]

const enquiryAudit = (caller: Caller, id: number | string, body: unknown = EVER): Promise<Response> =>
  caller.post(`/v1/EnquiryReport/${id}/Audit`, body)

async function trail(caller: Caller, report: WorldReport, asked: { key: number; body?: Body }): Promise<Row[]> {
  const body = { entityId: ENTITY_IDS[report], entityRecordId: asked.key, ...EVER, ...asked.body }
  return (await caller.envelope('audit_entries', { pageSize: 1_000, ...body })).items
}

const areOrdered = (stamps: readonly string[]): boolean =>
  stamps.every((stamp, i) => i === 0 || (stamps[i - 1] as string) <= stamp)

describe.each(reports)('the audit trail of %s', (report) => {
  it('contains creation, edits, deletion and restoration, in chronological order', async () => {
    const clock = new HandClock()
    await using caller = await aCaller({ clock })
    const [key = 0] = caller.world.liveKeys(report)
    for (const action of ['edit', 'editChild', 'softDelete', 'undelete'] as const) {
      clock.move(1_000)
      caller.world[action](report, key)
    }
    const entries = await trail(caller, report, { key })
    const live = await trail(caller, report, { key, body: { since: '2026-03-01' } })
    expect(entries[0]?.['action']).toBe('Created')
    expect([...new Set(live.map((entry) => entry['action']))]).toEqual(['Updated', 'Deleted', 'Restored'])
    expect(areOrdered(entries.map((entry) => String(entry['timestamp'])))).toBe(true)
    expect(
      entries.every((entry) => entry['entityType'] === entries[0]?.['entityType'] && Number.isInteger(entry['userId'])),
    ).toBe(true)
  })

  it('starts with the creation of a row that was inserted', async () => {
    await using caller = await aCaller()
    const { key } = caller.world.insert(report)
    expect((await trail(caller, report, { key })).map((entry) => entry['action'])).toContain('Created')
  })
})

describe('the audit report', () => {
  it('has entries that come twice at the same instant', async () => {
    await using caller = await aCaller({ rows: 300 })
    const doubled = caller.world.keys('events').filter((key) => {
      const stamps = caller.world.auditEntries(ENTITY_IDS.events, key).map((entry) => entry.at)
      return new Set(stamps).size < stamps.length
    })
    const [key = 0] = doubled
    const texts = (await trail(caller, 'events', { key })).map((entry) => JSON.stringify(entry))
    expect(new Set(texts).size).toBeLessThan(texts.length)
  })

  it('includes both bounds of its period to the last digit', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.keys('budgets')
    const [first] = caller.world.auditEntries(ENTITY_IDS.budgets, key)
    const at = (shift: number) => formatTicks((first?.at ?? 0) + shift)
    const count = async (since: number, until: number) =>
      (await trail(caller, 'budgets', { key, body: { since: at(since), until: at(until) } })).length
    expect([await count(0, 0), await count(-1, -1), await count(1, 1)]).toEqual([1, 0, 0])
  })

  it('adds payload and aggregates only when they are requested', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.keys('enquiries')
    const [plain] = await trail(caller, 'enquiries', { key })
    const [full] = await trail(caller, 'enquiries', { key, body: { expand: { payload: true, aggregates: true } } })
    expect(Object.keys(plain ?? {})).toEqual(['timestamp', 'userId', 'entityType', 'action'])
    expect(full).toMatchObject({ payload: expect.any(Object) as object, aggregates: expect.any(Object) as object })
  })

  it('pages through a trail', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.keys('events')
    for (let i = 0; i < 10; i += 1) caller.world.edit('events', key)
    const all = await trail(caller, 'events', { key })
    const pages: Row[] = []
    for (let pageNumber = 1; pageNumber <= Math.ceil(all.length / 4); pageNumber += 1) {
      pages.push(...(await trail(caller, 'events', { key, body: { pageNumber, pageSize: 4 } })))
    }
    expect(pages).toEqual(all)
  })

  it.each([
    [3, 1],
    [99, 100_001],
  ])('is empty for the unknown entity %i and record %i', async (entityId, entityRecordId) => {
    await using caller = await aCaller()
    expect(await caller.envelope('audit_entries', { entityId, entityRecordId })).toMatchObject({
      items: [],
      totalCount: 0,
    })
  })
})

describe('the enquiry audit', () => {
  it('is the trail of the enquiry in the path, without entityType', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.keys('enquiries')
    caller.world.edit('enquiries', key)
    const envelope = (await (await enquiryAudit(caller, key)).json()) as Envelope
    const general = await trail(caller, 'enquiries', { key })
    expect(envelope).toEqual({
      items: general.map((entry) =>
        Object.fromEntries(Object.entries(entry).filter(([field]) => field !== 'entityType')),
      ),
      pageNumber: 1,
      pageSize: 100,
      totalCount: general.length,
    })
    expect(Object.keys(envelope.items[0] ?? {})).toEqual(['timestamp', 'userId', 'action'])
  })

  it('takes enquiryId in the body too, as long as it is the one in the path', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.keys('enquiries')
    const same = await enquiryAudit(caller, key, { ...EVER, enquiryId: key })
    const other = await enquiryAudit(caller, key, { ...EVER, enquiryId: key + 1 })
    expect([same.status, other.status]).toEqual([200, 400])
  })

  it.each(['', '{}', '{"since":"soon"}', '{"since":"2000-01-01","colour":"blue"}'])(
    'answers 400 to the body %j',
    async (body) => {
      await using caller = await aCaller()
      expect((await enquiryAudit(caller, 20_001, body)).status).toBe(400)
    },
  )

  it('answers 400 to a path without a number, and an empty envelope to an enquiry that does not exist', async () => {
    await using caller = await aCaller()
    const unknown = await enquiryAudit(caller, 1)
    expect((await enquiryAudit(caller, 'twelve')).status).toBe(400)
    expect([unknown.status, ((await unknown.json()) as Envelope).totalCount]).toEqual([200, 0])
  })

  it.each(['enquiries', 'audit_entries', 'enquiry_audit_entries'] as const)(
    'answers 403 to a client that may not read %s',
    async (report) => {
      const clients = [
        { clientId: 'demo', clientSecret: 'demo-secret', scopes: ['enquiries.read'], forbidden: [report] },
      ]
      await using caller = await aCaller({ clients })
      expect((await enquiryAudit(caller, 20_001)).status).toBe(403)
    },
  )

  it('adds payload when it is requested', async () => {
    await using caller = await aCaller()
    const answer = (await (
      await enquiryAudit(caller, 20_001, { ...EVER, expand: { payload: true } })
    ).json()) as Envelope
    expect(answer.items.every((entry) => typeof entry['payload'] === 'object')).toBe(true)
  })
})
