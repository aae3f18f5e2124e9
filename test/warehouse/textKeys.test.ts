/** Keys that are text, or several fields, in the operator's own reports: rejected rows, counts and deletions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerReports } from '../../schema/index.ts'
import { type DeclarationInput, defineReport, integer, string } from '../../schema/report.ts'
import { at, aWarehouse, loadRows, NOON, ODD, type OpenWarehouse, texts } from '../support/warehouse.ts'

const declared = <const D extends Pick<DeclarationInput, 'name' | 'key' | 'fields' | 'deletes'>>(declaration: D) =>
  defineReport({
    meaning: 'Codes',
    path: '/v2/Codes',
    answer: 'envelope',
    window: { since: 'changedFrom', until: 'changedTo', required: false },
    ...declaration,
  })
const codes = declared({
  name: 'codes',
  key: ['code'],
  fields: { code: string('Code'), places: integer('Number of places') },
  deletes: 'absence',
})
const lines = declared({
  name: 'lines',
  key: ['order_id', 'line'],
  fields: { orderId: integer('Order'), line: integer('Line') },
})

const LATER = '2026-03-01T13:00:00Z'
const LAST = '2026-03-01T14:00:00Z'

let opened: OpenWarehouse
beforeAll(async () => {
  registerReports([codes, lines])
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

const keysOfRejected = async () =>
  (await texts(opened, 'tidemark.rejected_rows', { columns: ['key'] })).map(({ key }) => key)

describe('a rejected row', () => {
  it('whose key is text that looks like a number leaves the list with its next version', async () => {
    await loadRows(opened, codes, `[{"code":"007",${ODD}},{"code":"1e3",${ODD}}]`)
    expect(await keysOfRejected()).toEqual(['007', '1e3'])
    await loadRows(opened, codes, '[{"code":"7"},{"code":"1e3"}]', { observedAt: LATER })
    expect(await keysOfRejected()).toEqual(['007'])
    await loadRows(opened, codes, '[{"code":"007"}]', { observedAt: LATER })
    expect(await keysOfRejected()).toEqual([])
  })

  it('stays on the list when a row comes that shares only one field of its key', async () => {
    await loadRows(opened, lines, `[{"orderId":1,"line":"x"},{"orderId":2,"line":7.0,${ODD}},{"orderId":3}]`)
    expect(await keysOfRejected()).toEqual(['1:x', '2:7', null])
    await loadRows(opened, lines, '[{"orderId":1,"line":2},{"orderId":2,"line":7}]', { observedAt: LATER })
    expect(await keysOfRejected()).toEqual(['1:x', null])
  })

  it('is not taken for deleted by reconciles, whose keys are compared as text', async () => {
    const place = { report: codes, scope: '', asked: { start: at('2000-01-01T00:00:00Z'), filters: {} } }
    await loadRows(opened, codes, '[{"code":"0100"}]', { observedAt: NOON })
    for (const [n, hour] of [LATER, LAST].entries()) {
      const begun = { reconcileId: `reconcile ${n}`, startedAt: at(hour), reached: undefined }
      await opened.warehouse.continueOrBeginReconcile(place, begun)
      const rows = `[{"code":"0100",${ODD}},{"code":"007"},{"code":"7"},{"code":"1e3"}]`
      await loadRows(opened, codes, rows, { kind: 'reconcile', observedAt: hour, reconcile: begun })
      const ending = { ...place, ...begun, runId: 'run-1', now: at(hour), allowMassDelete: true }
      expect(await opened.warehouse.endReconcile(ending)).toMatchObject({ absent: 0, deleted: 0 })
    }
  })
})

it('keys of rows that a comparison of counts has read are known, also if they are text', async () => {
  await loadRows(opened, codes, '[{"code":"north"},{"code":"south"}]')
  const read = { span: { since: undefined, until: NOON }, keys: ['"north"', '"south"', '"west"', 12], readBy: 'run-1' }
  expect(await opened.warehouse.counts.recordCreations({ report: codes, scope: '' }, read)).toEqual(['west', '12'])
})
