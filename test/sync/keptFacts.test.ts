/** What a run reads of the books again and again is kept in memory, until something writes it. */
import { describe, expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'

const KEPT = ['report_states', 'coverage', 'page_sizes', 'histories', 'misfits', 'rejected_rows', 'columns']

async function withStatements(): Promise<{ tide: Tide; read: () => string[] }> {
  let statements: string[] = []
  const tide = await aTide({ sandbox: { rows: 4 }, onStatement: (sql) => statements.push(sql) })
  const read = () => {
    const tables = statements.flatMap((sql) => Array.from(sql.matchAll(/\btidemark\.(\w+)/g), ([, table]) => table))
    statements = []
    return KEPT.filter((table) => tables.includes(table))
  }
  return { tide, read }
}

describe('a run that finds nothing new', () => {
  it('asks the books for nothing that no run has changed', async () => {
    const { tide, read } = await withStatements()
    await using _ = tide
    const reports: ReportName[] = ['events', 'enquiries', 'office_reservations', 'merf_submissions']
    await tide.sync(...reports)
    await tide.sync(...reports)
    read()
    await tide.sync(...reports)
    expect(read()).toEqual([])
  })

  it('does not let one audit report forget what the other one has read', { tags: 'long' }, async () => {
    const { tide, read } = await withStatements()
    await using _ = tide
    await tide.sync()
    await tide.sync()
    read()
    await tide.sync('audit_entries', 'enquiry_audit_entries')
    await tide.sync('audit_entries', 'enquiry_audit_entries')
    expect(read()).toEqual([])
  })

  it('notices a pause that was made and ended meanwhile', async () => {
    const { tide } = await withStatements()
    await using _ = tide
    await tide.sync('enquiries')
    const pause = { code: 'REPORT_PAUSED', reason: 'an operator paused it', cure: 'resume', client: 'somebody' }
    await tide.warehouse.pause({ report: 'enquiries', ...pause }, tide.clock.now())
    expect(await tide.attempt('enquiries')).toMatchObject([{ state: 'paused' }])
    await tide.warehouse.resume(['enquiries'])
    expect(await tide.attempt('enquiries')).toMatchObject([{ state: 'done' }])
  })

  it('stores a report that was switched off, and one that is on again', async () => {
    const { tide } = await withStatements()
    await using _ = tide
    const isOn = async (enabled: boolean) => {
      await tide.warehouse.recordReportStates([
        { report: 'enquiry_audit_entries', enabled, offReason: enabled ? undefined : 'switched off' },
      ])
      return tide.warehouse.rows(`SELECT enabled FROM tidemark.report_states WHERE report = 'enquiry_audit_entries'`)
    }
    for (const enabled of [true, false, false, true]) expect(await isOn(enabled)).toEqual([{ enabled }])
  })
})
