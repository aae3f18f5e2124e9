/**
 * Audit entries: a window of a record is replaced as a whole, and numbers stay what they were (product contract §3).
 */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditEntries } from '../../schema/reports/auditEntries.ts'
import { enquiryAuditEntries } from '../../schema/reports/enquiryAuditEntries.ts'
import { formatInstant, type Instant, plusMs } from '../../src/instant.ts'
import { aWarehouse, type Given, loadPages, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

let opened: OpenWarehouse
beforeAll(async () => {
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

const minutes = (count: number): Instant => plusMs(NOON, count * 60_000)
let nextRecord = 1

interface Entry {
  readonly minute: number
  readonly action: string
}

/** Letters `a0 b1`: action and minute of each entry. */
const entries = (told: string): Entry[] =>
  told.split(' ').flatMap((each) => (each === '' ? [] : [{ action: each[0] ?? '', minute: Number(each.slice(1)) }]))

const rowOf = ({ minute, action }: Entry) => ({ timestamp: formatInstant(minutes(minute)), userId: 1, action })

const odd = (action: string, userId: unknown, minute = 1) => ({ ...rowOf({ minute, action }), userId })

function aRecord() {
  const id = nextRecord++
  let load = 0
  const read = (from: number, to: number, told: readonly Entry[]) => {
    load += 1
    return loadRows(opened, enquiryAuditEntries, told.map(rowOf), {
      observedAt: minutes(100 + load),
      asked: { enquiry_id: id },
      kind: 'audit',
      entryWindows: [{ record: [id], since: minutes(from), until: minutes(to) }],
    })
  }
  const rows = () =>
    texts(opened, 'main.enquiry_audit_entries', {
      columns: ['entry_number', 'action', 'timestamp', '_load_id'],
      where: `enquiry_id = ${id}`,
    })
  return {
    id,
    read: (from: number, to: number, told: string) => read(from, to, entries(told)),
    readEntries: read,
    rows,
    held: async () =>
      (await rows())
        .map((row) => `${row['entry_number']}${row['action']}${minuteOf(row['timestamp'])}`)
        .toSorted()
        .join(' '),
  }
}

const minuteOf = (timestamp: string | null | undefined): number => {
  const [hours = 0, mins = 0] = (timestamp ?? '').slice(11, 16).split(':').map(Number)
  return (hours - 12) * 60 + mins
}

describe('the entries of a record', () => {
  it('survive when they are equal at the same instant, and none doubles on a replay', async () => {
    const record = aRecord()
    expect(await record.read(0, 9, 'a1 a1 a1 b1')).toMatchObject({ inserted: 4 })
    const first = await record.rows()
    expect(await record.held()).toBe('1a1 2a1 3a1 4b1')
    expect(await record.read(0, 9, 'a1 b1 a1 a1')).toMatchObject({ inserted: 0, deleted: 0, unchanged: 4 })
    expect(await record.rows()).toEqual(first)
  })

  it('list each value that does not fit under the number of its entry, until that entry is replaced', async () => {
    const record = aRecord()
    const read = (rows: readonly object[]) =>
      loadRows(opened, enquiryAuditEntries, rows, {
        observedAt: minutes(200),
        asked: { enquiry_id: record.id },
        kind: 'audit',
        entryWindows: [{ record: [record.id], since: minutes(0), until: minutes(9) }],
      })
    const misfits = async () =>
      (await texts(opened, 'tidemark.misfits', { columns: ['key', 'column', 'value'], where: 'true' }))
        .filter(({ key }) => key?.startsWith(`${record.id}:`))
        .map(({ key, column, value }) => `${key} ${column} ${value}`)
        .toSorted()
    expect(await read([odd('a', 1), odd('b', 'x', 2), odd('c', 'y', 3), odd('c', 'y', 3)])).toMatchObject({
      misfits: 3,
    })
    const first = [`${record.id}:2 user_id "x"`, `${record.id}:3 user_id "y"`, `${record.id}:4 user_id "y"`]
    expect(await misfits()).toEqual(first)
    expect(await read([odd('a', 1), odd('b', 'x', 2), odd('c', 'y', 3), odd('c', 'y', 3)])).toMatchObject({
      misfits: 0,
    })
    expect(await misfits()).toEqual(first)
    expect(await read([odd('a', 1), odd('b', 2, 2), odd('c', 'y', 3)])).toMatchObject({ misfits: 0 })
    expect(await misfits()).toEqual([`${record.id}:3 user_id "y"`])
    await read([])
    expect(await misfits()).toEqual([])
  })

  it('are replaced exactly within the window that was read again, bounds included', async () => {
    const record = aRecord()
    await record.read(0, 9, 'a1 b3 c5 d7')
    expect(await record.read(3, 5, 'b3 e4')).toMatchObject({ inserted: 1, deleted: 1 })
    expect(await record.held()).toBe('1a1 2b3 4d7 5e4')
  })

  it('go when their window comes back empty, those outside stay', async () => {
    const record = aRecord()
    await record.read(0, 9, 'a1 b3 c5')
    expect(await record.read(2, 4, '')).toMatchObject({ inserted: 0, deleted: 1 })
    expect(await record.held()).toBe('1a1 3c5')
    await opened.warehouse.load({
      report: enquiryAuditEntries,
      runId: 'run-1',
      now: NOON,
      closes: [],
      kind: 'audit',
      entryWindows: [{ record: [record.id], since: minutes(0), until: minutes(1) }],
      audited: [],
    })
    expect(await record.held()).toBe('3c5')
  })

  it('that go one by one leave the others their numbers', async () => {
    const record = aRecord()
    await record.read(0, 9, 'a1 a1 b2')
    await record.read(0, 9, 'a1 b2')
    expect(await record.held()).toBe('1a1 3b2')
    await record.read(0, 9, 'a1 b2 a1')
    expect(await record.held()).toBe('1a1 3b2 4a1')
  })

  it('are numbered in order of time when they come, whatever order they are sent in', async () => {
    const record = aRecord()
    await record.read(0, 9, 'c5 a1 b3')
    expect(await record.held()).toBe('1a1 2b3 3c5')
    await record.read(4, 20, 'e9 c5 d7')
    expect(await record.held()).toBe('1a1 2b3 3c5 4d7 5e9')
  })

  it('of several records come in one load, each with its own window and numbers', async () => {
    const ids = [nextRecord++, nextRecord++, nextRecord++]
    const read = (told: readonly string[]) =>
      loadPages(opened, enquiryAuditEntries, {
        pages: told.map((each, n) => ({ rows: entries(each).map(rowOf), asked: { enquiry_id: ids[n] ?? 0 } })),
        given: {
          kind: 'audit',
          entryWindows: ids.map((id) => ({ record: [id], since: minutes(0), until: minutes(9) })),
        },
      })
    await read(['a1 b2', 'a1', 'z1'])
    await read(['b2', 'a1 c3', ''])
    const rows = await texts(opened, 'main.enquiry_audit_entries', {
      columns: ['enquiry_id', 'entry_number', 'action'],
      where: `enquiry_id IN (${ids.join(', ')})`,
    })
    expect(rows.map((row) => [Number(row['enquiry_id']) - (ids[0] ?? 0), row['entry_number'], row['action']])).toEqual([
      [0, '2', 'b'],
      [1, '1', 'a'],
      [1, '2', 'c'],
    ])
  })

  it('of one record number belong to the requested entity', async () => {
    const read = (entity: number, action: string) =>
      loadRows(
        opened,
        auditEntries,
        [{ timestamp: formatInstant(NOON), action, payload: { was: 1e-30, is: [action] }, totals: { a: 1 } }],
        {
          asked: { entity_id: entity, entity_record_id: 5 },
          kind: 'audit',
          entryWindows: [{ record: [entity, 5], since: NOON, until: NOON }],
        },
      )
    await read(3, 'a')
    await read(4, 'b')
    await read(3, 'c')
    expect(
      await texts(opened, 'main.audit_entries', {
        columns: ['entity_id', 'entry_number', 'action', 'payload', '_extra'],
      }),
    ).toEqual([
      {
        entity_id: '3',
        entry_number: '2',
        action: 'c',
        payload: '{"was":1e-30,"is":["c"]}',
        _extra: '{"totals":{"a":1}}',
      },
      {
        entity_id: '4',
        entry_number: '1',
        action: 'b',
        payload: '{"was":1e-30,"is":["b"]}',
        _extra: '{"totals":{"a":1}}',
      },
    ])
  })

  it('without a time are kept, and replaced with any window of their record', async () => {
    const id = nextRecord++
    const given: Given = {
      asked: { enquiry_id: id },
      kind: 'audit',
      entryWindows: [{ record: [id], since: NOON, until: minutes(1) }],
    }
    await loadRows(opened, enquiryAuditEntries, [{ action: 'a' }, { action: 'b' }], given)
    await loadRows(opened, enquiryAuditEntries, [{ action: 'b' }, { action: 'c' }], given)
    expect(
      await texts(opened, 'main.enquiry_audit_entries', {
        columns: ['entry_number', 'action'],
        where: `enquiry_id = ${id}`,
      }),
    ).toEqual([
      { entry_number: '2', action: 'b' },
      { entry_number: '3', action: 'c' },
    ])
  })

  it("equal the service's last response for every minute, whatever windows are read", { tags: 'long' }, async () => {
    const someEntries = fc.array(fc.record({ minute: fc.nat(5), action: fc.constantFrom('a', 'b') }), { maxLength: 5 })
    const someReads = fc.array(fc.tuple(fc.nat(5), fc.nat(5), someEntries), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(someReads, async (reads) => {
        const record = aRecord()
        let expected: Entry[] = []
        for (const [one, other, world] of reads) {
          const [from, to] = [Math.min(one, other), Math.max(one, other)]
          const inside = ({ minute }: Entry) => minute >= from && minute <= to
          await record.readEntries(from, to, world.filter(inside))
          expected = [...expected.filter((entry) => !inside(entry)), ...world.filter(inside)]
        }
        const rows = await record.rows()
        expect(rows.map((row) => `${row['action']}${minuteOf(row['timestamp'])}`).toSorted()).toEqual(
          expected.map(({ action, minute }) => `${action}${minute}`).toSorted(),
        )
        expect(new Set(rows.map((row) => row['entry_number'])).size).toBe(rows.length)
      }),
      { numRuns: 20 },
    )
  })
})
