/** `tidemark sync` as a process: what it prints where, how it ends, and that secrets stay out of all of it. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { reportNames } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { reportsOnly } from '../jobs/support.ts'
import { aPlace, aWorldWithoutCollections as aWorld, SECRET_TEXT } from './support.ts'

interface Document {
  readonly reports: readonly Record<string, unknown>[]
  readonly published: string | null
}

describe('tidemark sync', () => {
  it('says of a start in the future that it is the start', { tags: 'long' }, async () => {
    await using world = await aWorld({ settings: { defaults: { start: '2999-01-01' } } })
    const { code, stdout } = await world.run('sync', 'events')
    expect(code).toBe(1)
    expect(stdout).toMatch(/REQUEST_INVALID[^]*what to do: Check start \(it must not be in the future\)/)
  })

  it('ends with 0 and a table of all reports, and publishes', async () => {
    await using world = await aWorld({ sandbox: { rows: 10 } })
    const { code, stdout, stderr } = await world.run('sync')
    expect(code).toBe(0)
    for (const report of reportNames) {
      expect(stdout).toMatch(new RegExp(`^${report} +done `, 'm'))
      expect(stderr).toMatch(new RegExp(`^${report}: done, \\d+ pages?, `, 'm'))
    }
    expect(stdout).toContain('new columns')
    expect(stdout).toMatch(new RegExp(`^${reportNames.length} done in `, 'm'))
    expect(existsSync(path.join(world.folder, 'data/published.duckdb'))).toBe(true)
  })

  it('says that no record of an audit report was due, and does not look as if the service had answered', async () => {
    await using world = await aWorld({ sandbox: { rows: 1 } })
    const { code, stdout, stderr } = await world.run('sync', 'enquiry_audit_entries')
    expect(code).toBe(0)
    expect(stdout).toContain('enquiry_audit_entries: no record was due, so nothing was requested from the service\n')
    expect(stderr).toBe('enquiry_audit_entries: done, no record was due, so nothing was requested from the service\n')
    expect(world.sandbox.requests.list().filter(({ path }) => path.startsWith('/reportingapi'))).toEqual([])
    const { reports } = JSON.parse((await world.run('sync', 'enquiry_audit_entries', '--json')).stdout) as Document
    expect(reports).toMatchObject([{ state: 'done', pages: 0, nothing_requested_because: 'no record was due' }])
  })

  it('reads only what changed when it runs again', { tags: 'long' }, async () => {
    await using world = await aWorld()
    await world.run('sync', 'events')
    world.sandbox.world.edit('events', 100_001)
    const { stdout } = await world.run('sync', 'events', '--json')
    const { reports } = JSON.parse(stdout) as Document
    expect(reports).toMatchObject([{ report: 'events', state: 'done', new: 0, changed: 1 }])
  })

  it('prints one JSON document and nothing else on standard output with --json, and JSON lines as its log', {
    tags: 'long',
  }, async () => {
    await using world = await aWorld({ sandbox: { rows: 10 } })
    const { code, stdout, stderr } = await world.run('sync', '--json')
    expect(code).toBe(0)
    const { reports, published } = JSON.parse(stdout) as Document
    expect(reports.map(({ report }) => report)).toEqual(reportNames)
    expect(reports[0]).toMatchObject({ state: 'done', new: 10, mark: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/) })
    expect(published).toBe(path.join(world.folder, 'data/published.duckdb'))
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string })
    expect(lines.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/^events: done, /))
  })

  it('names the fields that a frozen contract left without a column, once', { tags: 'long' }, async () => {
    await using world = await aWorld({ sandbox: { rows: 3 }, settings: { defaults: { schema_contract: 'freeze' } } })
    const key = world.sandbox.world.liveKeys('events')[0] ?? 0
    world.sandbox.world.putRow('events', key, { brandNew: '"value"' })
    const { code, stdout } = await world.run('sync', 'events')
    expect(code, stdout).toBe(0)
    expect(stdout).toMatch(
      /events: \d+ fields without a column, kept in _extra or _payload: events\.\w+, .*schema_changes/,
    )
    world.sandbox.world.putRow('events', key, { newerStill: '1' })
    const again = JSON.parse((await world.run('sync', 'events', '--json')).stdout) as { reports: object[] }
    expect(again.reports).toMatchObject([{ new_columns: 0, fields_without_column: ['events.newerStill'] }])
  })

  it('prints nothing with --quiet when all is well', { tags: 'long' }, async () => {
    await using world = await aWorld()
    expect(await world.run('sync', 'enquiries', '--quiet')).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('ends with 1 when one report is forbidden, says why and what to do, and still runs the others', {
    tags: 'long',
  }, async () => {
    await using world = await aWorld({ sandbox: { faults: ['403@budgets'] } })
    const { code, stdout } = await world.run('sync', 'budgets', 'enquiries')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^budgets +failed /m)
    expect(stdout).toMatch(/^enquiries +done /m)
    expect(stdout).toMatch(/^budgets failed: .*\(REPORT_FORBIDDEN\)\n {2}what to do: /m)
    const again = JSON.parse((await world.run('sync', 'budgets', '--json')).stdout) as Document
    expect(again.reports[0]).toMatchObject({ state: 'paused', error: { code: 'REPORT_FORBIDDEN' } })
  })

  it('says why a report is off, and is done all the same', { tags: 'long' }, async () => {
    const reports = reportsOnly({ budgets: {}, enquiries: {} })
    await using world = await aWorld({ settings: { currencies: [], reports } })
    const { code, stdout } = await world.run('sync')
    expect(code).toBe(0)
    expect(stdout).toContain('budgets is off: no currencies are configured')
  })

  it('ends with 2 when a report that is off is asked for by name', async () => {
    await using world = await aWorld({ settings: { currencies: [] } })
    const { code, stdout, stderr } = await world.run('sync', 'budgets')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/budgets is off: no currencies are configured[^]*CONFIG_INVALID[^]*TIDEMARK_CURRENCIES/)
  })

  it('ends with 2 and the name that was meant for an unknown report', async () => {
    await using world = await aWorld()
    const { code, stdout, stderr } = await world.run('sync', 'evnts')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/there is no report "evnts"; did you mean "events"\?[^]*REPORT_UNKNOWN/)
  })

  it('ends with 2 for a wrong configuration, with the line, before anything is asked', async () => {
    await using place = await aPlace({ files: { 'tidemark.yaml': 'service:\n  base_ulr: http://x\n' } })
    const { code, stdout, stderr } = await place.run('sync')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/tidemark\.yaml:2[^]*CONFIG_INVALID/)
    const asDocument = await place.run('sync', '--json')
    expect(JSON.parse(asDocument.stdout)).toMatchObject({ error: { code: 'CONFIG_INVALID' } })
  })

  it('tells that another process has the warehouse, and ends with 1', { tags: 'long' }, async () => {
    await using world = await aWorld({ sandbox: { faults: ['slow:20000'] } })
    const first = world.start(['sync', 'events'])
    await expect.poll(() => world.sandbox.requests.total, { timeout: 250_000 }).toBeGreaterThan(0)
    const { code, stderr } = await world.run('sync', 'enquiries')
    expect(code).toBe(1)
    expect(stderr).toContain('WAREHOUSE_LOCKED')
    first.kill('SIGTERM')
    await first.ended
  })

  it('waits until a command that reads has closed the warehouse', { tags: 'long' }, async () => {
    await using world = await aWorld({ sandbox: { rows: 5 } })
    await world.run('sync', 'events', '--quiet')
    const file = path.join(world.folder, 'data/warehouse.duckdb')
    const reader = await Database.open(file, { readOnly: true, memory: '64MB' })
    const syncing = world.run('sync', 'events', '--quiet')
    await systemClock.sleep(1_500)
    await reader.close()
    expect(await syncing).toMatchObject({ code: 0, stderr: '' })
  })

  it('keeps secret and token out of everything that is printed when the service refuses them', async () => {
    for (const fault of ['401-always@token', '401-always', '403']) {
      await using world = await aWorld({ sandbox: { faults: [fault] } })
      for (const args of [
        ['sync', 'events'],
        ['sync', 'budgets', '--json'],
        ['check', '--json'],
      ]) {
        const { code, stdout, stderr } = await world.run(...args)
        expect(code).toBe(1)
        const said = stdout + stderr
        for (const text of [SECRET_TEXT, JSON.stringify(SECRET_TEXT).slice(1, -1), 'eyJ'])
          expect(said).not.toContain(text)
      }
    }
  })
})
