/**
 * Audit reports with private columns and history: entries have no identifier, so they are known again by what is kept.
 */
import { describe, expect, it } from 'vitest'
import { aTide, type Tide } from '../support/tide.ts'

const PRIVATE = {
  history: true,
  exclude_payload: true,
  columns: { action: 'hash', payload: 'drop', user_id: 'drop' },
}

const aPrivateTrail = (): Promise<Tide> =>
  aTide({
    sandbox: { rows: 12 },
    settings: {
      reports: { audit_entries: { entities: [{ entity_id: 3, follows: 'events' }], ...PRIVATE } },
    },
    env: { TIDEMARK_HASH_KEY: '0123456789abcdef0123456789abcdef' },
  })

const sent = ({ sandbox: { world } }: Tide): number =>
  world.keys('events').reduce((entries, key) => entries + world.auditEntries(3, key).length, 0)

describe('private audit entries', () => {
  it('come whole, are hashed and dropped, and are not written again when nothing changed', {
    tags: 'long',
  }, async () => {
    await using tide = await aPrivateTrail()
    await tide.sync('events', 'audit_entries')
    const [kept] = await tide.warehouse.rows<Record<string, number>>(`
      SELECT count(*) AS entries, count(*) FILTER (length(action) = 64) AS hashed, count(DISTINCT action) AS actions,
        count(user_id) + count(payload) + count(_extra) AS clear FROM audit_entries`)
    expect(kept).toMatchObject({ entries: sent(tide), hashed: sent(tide), clear: 0 })
    expect(kept?.['actions']).toBeGreaterThan(1)
    await tide.warehouse.rows(`UPDATE tidemark.followed SET asked_at = NULL`)
    const again = await tide.sync('audit_entries')
    expect(again[0]?.figures).toMatchObject({ inserted: 0, deleted: 0 })
  })

  it('have a history whose open versions are the table, also after new entries came', { tags: 'long' }, async () => {
    await using tide = await aPrivateTrail()
    await tide.sync('events', 'audit_entries')
    for (const key of tide.sandbox.world.liveKeys('events').slice(0, 3)) tide.sandbox.world.edit('events', key)
    await tide.sync('events', 'audit_entries')
    const [found] = await tide.warehouse.rows<Record<string, number>>(`
      SELECT (SELECT count(*) FROM audit_entries) AS held,
        (SELECT count(*) FROM history.audit_entries WHERE _valid_to IS NULL) AS open,
        (SELECT count(*) FROM (
          SELECT * EXCLUDE (_valid_from, _valid_to) FROM history.audit_entries WHERE _valid_to IS NULL
          EXCEPT ALL SELECT * FROM audit_entries)) AS differing,
        (SELECT count(user_id) + count(payload) FROM history.audit_entries) AS clear`)
    expect(found).toEqual({ held: sent(tide), open: sent(tide), differing: 0, clear: 0 })
  })
})
