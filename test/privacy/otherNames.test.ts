/** A private column is private under every name by which its values come: rows of another shape name them otherwise. */
import { describe, expect, it } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import { type ColumnRule, rowRules } from '../../src/plan/privacy.ts'
import { Secret } from '../../src/secret.ts'
import { keyedHash, PrivatePages } from '../../src/staging/privatePage.ts'
import { aTide } from '../support/tide.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const HASHED = keyedHash('Ann', new Secret(KEY))

function pageOf(columns: Record<string, ColumnRule>, rows: unknown[]): unknown {
  const rules = rowRules(reportOf('events'), { columns, excludePayload: false })
  if (rules === undefined) return rows
  const pages = new PrivatePages({ answer: 'array', rules, hashKey: new Secret(KEY) })
  return JSON.parse(pages.withoutPrivateValues(Buffer.from(JSON.stringify(rows))).toString())
}

describe('a private name of events', () => {
  it.each(['drop', 'hash'] as const)('is kept in no shape of the row: %s', { tags: 'long' }, async (rule) => {
    await using tide = await aTide({
      sandbox: { rows: 20, eventShape: 'mixed' },
      settings: { reports: { events: { columns: { name: rule }, history: true } } },
      env: { TIDEMARK_HASH_KEY: KEY },
    })
    await tide.sync('events')
    const [found] = await tide.warehouse.rows<Record<string, number>>(`
      SELECT count(total_changes) > 0 AND count(total_changes) < count(*) AS mixed,
        count(name) FILTER (length(name) <> 64) AS clear, count(name) AS kept,
        (SELECT count(name) FILTER (length(name) <> 64) FROM history.events) AS clear_versions FROM events`)
    const kept = rule === 'drop' ? 0 : tide.sandbox.world.keys('events').length
    expect(found).toEqual({ mixed: true, clear: 0, kept, clear_versions: 0 })
  })

  it('is taken out of the other field in each of its spellings, and nothing else is', () => {
    const rows = [{ eventId: 1, eventName: 'Ann', EventName: 'Ann', event_name: 'Ann', names: 'Ann', name: null }]
    expect(pageOf({ name: 'hash' }, rows)).toEqual([
      { eventId: 1, eventName: HASHED, EventName: HASHED, event_name: HASHED, names: 'Ann', name: null },
    ])
  })

  it('has the rule of the column that is filled, not one of a column that the field does not fill', () => {
    const rows = [{ eventId: 1, eventName: 'Ann' }]
    expect(pageOf({ name: 'drop', event_name: 'hash' }, rows)).toEqual([{ eventId: 1, eventName: null }])
  })
})

describe('a private column of a collection', () => {
  it('is taken out of the items also where the collection comes in another spelling, which is kept as sent', () => {
    const rows = [{ eventId: 1, Assignments: [{ userName: 'Ann', id: 1 }], assignments: [{ UserName: 'Ann' }] }]
    expect(pageOf({ 'assignments.user_name': 'drop' }, rows)).toEqual([
      { eventId: 1, Assignments: [{ userName: null, id: 1 }], assignments: [{ UserName: null }] },
    ])
  })
})
