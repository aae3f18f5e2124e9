/** Identifiers of items are in the keys of their rows, too. */
import { expect, it } from 'vitest'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { privacyText } from '../../src/plan/privacy.ts'
import { plusMs } from '../../src/instant.ts'
import { aWarehouse, loadRows, NOON } from '../support/warehouse.ts'

const PLACE = { report: 'enquiries', scope: '' } as const
const hours = (count: number) => plusMs(NOON, count * 3_600_000)

const enquiry = (status: number) => ({
  enquiryId: 1,
  status,
  taxes: [
    { id: 'ann@x.org', rate: status },
    { id: 'bob@x.org', rate: status },
  ],
})

it.each([{ columns: { 'taxes.id': 'hash' } }, { columns: { taxes: 'drop' } }] as const)(
  'identifiers of items that become private ($columns) leave the keys of stored rows and versions',
  async ({ columns }) => {
    await using opened = await aWarehouse()
    const { warehouse } = opened
    await warehouse.recordReportStates([
      { report: 'enquiries', enabled: true, offReason: undefined, history: { on: true, now: NOON } },
    ])
    const record = (rules: string | undefined) =>
      warehouse.recordCoverage(PLACE, {
        settings: { start: NOON, filters: {}, expand: [], columns: rules },
        refillUntil: undefined,
        because: [],
      })
    await record(undefined)
    await loadRows(opened, enquiries, [enquiry(1)])
    await loadRows(opened, enquiries, [enquiry(2)], { observedAt: hours(1) })
    await record(privacyText({ columns, excludePayload: false }, 'key'))
    // The service no longer returns one of the items.
    const sent = columns['taxes.id'] === undefined ? null : [{ id: 'hash of bob', rate: 3 }]
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 3, taxes: sent }], { observedAt: hours(2) })
    const texts = await warehouse.rows<{ text: string }>(`
    SELECT to_json(t)::VARCHAR AS text FROM history.enquiries__taxes t UNION ALL
    SELECT to_json(t)::VARCHAR FROM tidemark.replaced t`)
    expect(texts.filter(({ text }) => text.includes('@x.org'))).toEqual([])
    // The versions of an item still have one key.
    const versions = await warehouse.rows(`
    SELECT count(*) AS versions, count(_valid_to) AS closed FROM history.enquiries__taxes
    WHERE _child_key <> 'hash of bob' GROUP BY _child_key`)
    expect(versions).toEqual([
      { versions: 3, closed: 2 },
      { versions: 3, closed: 2 },
    ])
  },
)
