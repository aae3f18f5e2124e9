/**
 * History: every version of a row and of its children, in the transaction that replaces it; the open ones are the
 * table.
 */
import { plusMs } from '../../src/instant.ts'
import { describe, expect, it } from 'vitest'
import { dictionary } from '../../schema/dictionary.ts'
import { reportOf } from '../../schema/index.ts'
import { documents } from '../rules/markdown.ts'
import { disagreeing, overlapping } from '../support/history.ts'
import { busyHistory } from './busyHistory.ts'
import { at, aWarehouse, loadRows, type OpenWarehouse, texts } from '../support/warehouse.ts'

const enquiries = reportOf('enquiries')
const budgets = reportOf('budgets')
const T = ['2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z', '2026-03-01T12:00:00Z', '2026-03-01T13:00:00Z'] as const

const switchTo = (opened: Pick<OpenWarehouse, 'warehouse'>, on: boolean, now: string = T[0]) =>
  opened.warehouse.recordReportStates([
    { report: 'enquiries', enabled: true, offReason: undefined, history: { on, now: at(now) } },
  ])

const anEvent = (name: string, rooms: number[]) => [{ eventId: 1, name, meetingRooms: rooms.map((id) => ({ id })) }]

const anEnquiry = (id: number, status: number) => ({
  enquiryId: id,
  status,
  taxes: [{ id: 1, rate: status }],
})

const aBudget = (amount: number, modifiedAt: string) => [{ budgetId: 1, budgetName: String(amount), modifiedAt }]

describe('history', () => {
  it('keeps each version with the times between which it stood, children too', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    await switchTo(opened, true)
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 1, taxes: [{ id: 5, rate: 1 }, { id: 6 }] }], {
      observedAt: T[0],
    })
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 2, taxes: [{ id: 5, rate: 2.5 }] }], {
      observedAt: T[1],
    })
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 2, taxes: [{ id: 5, rate: 2.5 }] }], {
      observedAt: T[2],
    })
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 3, fresh: 'x', taxes: [{ id: 5, rate: 'high' }] }], {
      observedAt: T[3],
    })
    const columns = ['status', '_valid_from', '_valid_to']
    const ofRow = await texts(opened, 'history.enquiries', { columns })
    expect(ofRow.map(({ status, _valid_from, _valid_to }) => [status, hour(_valid_from), hour(_valid_to)])).toEqual([
      ['1', '10', '11'],
      ['2', '11', '13'],
      ['3', '13', ''],
    ])
    const ofTaxes = await texts(opened, 'history.enquiries__taxes', {
      columns: ['_child_key', '_valid_from', '_valid_to', 'rate', 'is_deleted'],
    })
    expect(
      ofTaxes.map((row) => [
        row['_child_key'],
        hour(row['_valid_from']),
        hour(row['_valid_to']),
        row['rate'],
        row['is_deleted'],
      ]),
    ).toEqual([
      ['5', '10', '11', '1.000000000', 'false'],
      ['5', '11', '13', '2.500000000', 'false'],
      ['5', '13', '', null, 'false'],
      ['6', '10', '11', null, 'false'],
      ['6', '11', '', null, 'true'],
    ])
    expect(await disagreeing(opened, 'enquiries')).toEqual([])
    expect(await overlapping(opened, 'enquiries')).toEqual([])
  })

  it('answers the question about a moment that the documents show', async () => {
    await using opened = await aWarehouse()
    const events = reportOf('events')
    await opened.warehouse.recordReportStates([
      { report: 'events', enabled: true, offReason: undefined, history: { on: true, now: at(T[0]) } },
    ])
    await loadRows(opened, events, anEvent('first', [1]), { observedAt: T[0] })
    await loadRows(opened, events, anEvent('second', [1, 2]), { observedAt: T[1] })
    await loadRows(opened, events, [...anEvent('third', []), { eventId: 2, name: 'later' }], { observedAt: T[2] })
    const block = documents()
      .flatMap(({ blocks }) => blocks)
      .find(({ kind }) => kind === 'sql history')
    const [set = '', question = ''] = (block?.text ?? '').split(';\n')
    await opened.warehouse.rows(set)
    expect(await opened.warehouse.rows(question)).toEqual([{ event_id: 1, name: 'second', status: null, rooms: 2 }])
  })

  it('gives the rows of a moment by the statement in the dictionary, whichever table it is asked of', async () => {
    await using opened = await aWarehouse()
    await switchTo(opened, true)
    await loadRows(opened, enquiries, [anEnquiry(1, 1), anEnquiry(2, 1)], { observedAt: T[0] })
    await loadRows(opened, enquiries, [anEnquiry(1, 2), { enquiryId: 2, status: 1, taxes: [] }], { observedAt: T[1] })
    await loadRows(opened, enquiries, [anEnquiry(1, 3), anEnquiry(2, 3), anEnquiry(3, 3)], { observedAt: T[2] })
    const [set = '', question = ''] = (/```sql moment\n(.*?)```/s.exec(dictionary([]))?.[1] ?? '').split(';\n')
    await opened.warehouse.rows(set)
    const then = (table: string) => opened.warehouse.rows(`SELECT * FROM (${question.replace('events', table)})`)
    expect(await then('enquiries')).toMatchObject([
      { enquiry_id: 1, status: 2 },
      { enquiry_id: 2, status: 1 },
    ])
    expect(await then('enquiries__taxes')).toMatchObject([{ enquiry_id: 1, rate: 2 }])
  })

  it('has one version for any moment, whatever order loads come in', async () => {
    await using opened = await aWarehouse()
    const states = [
      { report: 'budgets', enabled: true, offReason: undefined, history: { on: true, now: at(T[0]) } } as const,
    ]
    await opened.warehouse.recordReportStates(states)
    await loadRows(opened, budgets, aBudget(1, '2026-01-01T00:00:00Z'), { observedAt: T[0] })
    await loadRows(opened, budgets, aBudget(2, '2026-01-02T00:00:00Z'), { observedAt: T[3] })
    // Newer by its own stamp, though it was seen a little earlier.
    const before = plusMs(at(T[3]), -20_000)
    await loadRows(opened, budgets, aBudget(3, '2026-01-03T00:00:00Z'), { observedAt: before })
    expect(await overlapping(opened, 'budgets')).toEqual([])
    expect(await disagreeing(opened, 'budgets')).toEqual([])
    const names = await texts(opened, 'history.budgets', { columns: ['budget_name'] })
    expect(names.map((each) => each['budget_name'])).toEqual(['1', '2', '3'])
  })

  it('begins with the rows that are there when it is switched on, and closes all when it is switched off', async () => {
    await using opened = await aWarehouse()
    await loadRows(
      opened,
      enquiries,
      [
        { enquiryId: 1, status: 1 },
        { enquiryId: 2, status: 1 },
      ],
      { observedAt: T[0] },
    )
    await switchTo(opened, true, T[1])
    expect(await disagreeing(opened, 'enquiries')).toEqual([])
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 2 }], { observedAt: T[1] })
    await switchTo(opened, false, T[2])
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 3, later: 1 }], { observedAt: T[3] })
    const held = await texts(opened, 'history.enquiries', { columns: ['enquiry_id', 'status', '_valid_to'] })
    expect(held.map((each) => [each['enquiry_id'], each['status'], hour(each['_valid_to'])])).toEqual([
      ['1', '1', '11'],
      ['1', '2', '12'],
      ['2', '1', '12'],
    ])
    await switchTo(opened, true, T[3])
    expect(await disagreeing(opened, 'enquiries')).toEqual([])
    expect(await overlapping(opened, 'enquiries')).toEqual([])
    const comment = await opened.warehouse.rows(
      'SELECT since IS NOT NULL AS since, ended_at IS NULL AS open FROM tidemark.histories ORDER BY tidemark.histories.since',
    )
    expect(comment).toEqual([
      { since: true, open: false },
      { since: true, open: true },
    ])
  })

  it('leaves its own columns to itself where fields are called like them', async () => {
    await using opened = await aWarehouse()
    await switchTo(opened, true)
    await loadRows(opened, enquiries, namedLikeVersions(1), { observedAt: T[0] })
    await loadRows(opened, enquiries, namedLikeVersions(2), { observedAt: T[1] })
    expect(await texts(opened, 'history.enquiries', { columns: NAMED_LIKE_VERSIONS })).toEqual(TWO_VERSIONS)
    expect(await texts(opened, 'history.enquiries__taxes', { columns: NAMED_LIKE_VERSIONS })).toEqual(TWO_VERSIONS)
  })

  it.each(['events', 'budgets'] as const)(
    'of %s agrees with its tables after every run of a busy service, and holds each version that was ever held',
    { tags: 'long' },
    (report) => busyHistory(report, { rows: 15, runs: 2 }),
  )
})

const NAMED_LIKE_VERSIONS = ['_valid_from', '_valid_to', '_valid_from_2', '_valid_to_2']
const namedLikeVersions = (n: number) => {
  const fields = { _validFrom: `from ${n}`, _valid_to: `to ${n}` }
  return [{ enquiryId: 1, ...fields, taxes: [{ id: 1, ...fields }] }]
}
const TWO_VERSIONS = [
  {
    _valid_from: '2026-03-01 10:00:00+00',
    _valid_to: '2026-03-01 11:00:00+00',
    _valid_from_2: 'from 1',
    _valid_to_2: 'to 1',
  },
  { _valid_from: '2026-03-01 11:00:00+00', _valid_to: null, _valid_from_2: 'from 2', _valid_to_2: 'to 2' },
]

const hour = (time: string | null | undefined): string => time?.slice(11, 13) ?? ''
