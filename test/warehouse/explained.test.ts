/** `tidemark.freshness.explained`: what an analyst reads about a report, in words that fit what happened to it. */
import { describe, expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { aTide, type Tide } from '../support/tide.ts'

async function explained({ warehouse }: Pick<Tide, 'warehouse'>, report: ReportName): Promise<string> {
  const [row] = await warehouse.rows<{ explained: string }>(
    `SELECT explained FROM tidemark.freshness WHERE report = '${report}'`,
  )
  return row?.explained ?? ''
}

describe('freshness in words', () => {
  it('contain up to when a report was read, which deletions are visible and what the last reconcile found', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide()
    await tide.sync('events', 'merf_submissions')
    const events = await explained(tide, 'events')
    expect(events).toMatch(
      /^Read from 2000-01-01 00:00:00 UTC to \d{4}-.* UTC\. Everything that the service showed as modified up to .* is here, that was \d+ seconds? ago\./,
    )
    expect(events).toContain('Deletions show with the next sync: rows say so themselves.')
    const submissions = await explained(tide, 'merf_submissions')
    expect(submissions).toContain('Read from the beginning to')
    expect(submissions).toContain('or when two reconciles in a row did not find a row. No reconcile has ended yet.')
    await tide.warehouse.rows(`
      INSERT INTO tidemark.reconciles VALUES ('r', 'merf_submissions', '', now(), NULL, TIMESTAMPTZ '2026-02-03 04:05:06+00', 9, 2, 1, 0, 0, NULL)`)
    expect(await explained(tide, 'merf_submissions')).toContain(
      'The last reconcile (2026-02-03 04:05:06 UTC) found 2 rows missing and 1 row different, and repaired them; 0 rows marked as deleted.',
    )
  })

  it('contain that filters hide deletions that only absence could show', { tags: 'long' }, async () => {
    await using tide = await aTide({
      settings: { reports: { enquiries: { filters: { companyId: 7 } }, events: { filters: { companyId: 7 } } } },
    })
    await tide.attempt('enquiries', 'events')
    expect(await explained(tide, 'enquiries')).toMatch(
      /Deletions do not show while the report has filters: .* Only a reconcile finds late rows\./,
    )
    expect(await explained(tide, 'events')).toContain('Deletions show with the next sync')
    expect(await explained(tide, 'audit_entries')).toContain(
      'Entries are never marked as deleted. An entry that the service shows late is not found.',
    )
  })

  it('contain why there are no rows', { tags: 'long' }, async () => {
    await using tide = await aTide({ settings: { reports: { enquiries: { enabled: false } } } })
    tide.sandbox.setFaults(['403@office_reservations'])
    await tide.attempt('office_reservations', 'enquiries')
    expect(await explained(tide, 'enquiries')).toMatch(
      /^Not running: enabled: false\. 0 rows because it does not run\./,
    )
    expect(await explained(tide, 'office_reservations')).toContain('0 rows because it does not run.')
    expect(await explained(tide, 'budgets')).toContain('0 rows because it has not run yet.')
    const empty = 'DELETE FROM main.events; INSERT INTO tidemark.runs BY NAME SELECT * FROM tidemark.runs WHERE false'
    await tide.attempt('enquiry_audit_entries')
    const trail = await explained(tide, 'enquiry_audit_entries')
    expect(trail).toMatch(/^0 rows because no record that it follows is here yet, or none has an entry\. Entries are/)
    await tide.sync('events')
    await tide.warehouse.rows(empty)
    expect(await explained(tide, 'events')).toContain(
      '0 rows because the service returned none that the configuration requests.',
    )
  })

  it('counts rows that could not be stored and fields without a column', { tags: 'long' }, async () => {
    await using tide = await aTide({
      sandbox: { faults: ['bad-rows@events:5'] },
      settings: { defaults: { schema_contract: 'freeze' } },
    })
    await tide.sync('events')
    const words = await explained(tide, 'events')
    expect(words).toMatch(/\d+ rows could not be stored: tidemark\.rejected_rows says why\./)
    expect(words).toMatch(/\d+ fields got no column or kept an old type/)
  })
})
