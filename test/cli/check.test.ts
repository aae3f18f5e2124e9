/** `tidemark check`: what it finds, and what it says to do. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { reportNames } from '../../schema/index.ts'
import { reportsOnly } from '../jobs/support.ts'
import { aWorldWithoutCollections as aWorld } from './support.ts'

interface Told {
  readonly ok: boolean
  readonly checks: readonly { check: string; result: string; found: string; cure?: string; code?: string }[]
}

async function checked(faults: readonly string[], env: NodeJS.ProcessEnv = {}) {
  await using world = await aWorld({ sandbox: { faults, rows: 200 }, env })
  const { code, stdout } = await world.run('check', '--json')
  const told = JSON.parse(stdout) as Told
  return { code, told, of: (name: string) => told.checks.find(({ check }) => check === name) }
}

describe('tidemark check', () => {
  it('finds all well, and says it line by line', async () => {
    await using world = await aWorld()
    const { code, stdout, stderr } = await world.run('check')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = ['configuration', 'network', 'token', ...reportNames, 'limit', 'clock', 'queue', 'console']
    for (const check of [...lines, 'warehouse', 'disk', 'published copy'])
      expect(stdout).toMatch(new RegExp(`^${check} +ok `, 'm'))
    expect(stdout).toMatch(/^configuration .*; 8 of 8 reports on, listed under reports or not$/m)
    expect(stdout).toMatch(/^token .*lives .*event\.read/m)
    expect(stdout).toContain('All is well.')
  })

  it('counts deleted rows apart, and says if it has read only the first page', async () => {
    const settings = { defaults: { page_size: 30 }, reports: reportsOnly({ events: {}, budgets: {}, enquiries: {} }) }
    await using world = await aWorld({ sandbox: { rows: 40 }, settings: { ...settings, defaults: { page_size: 50 } } })
    const { world: served } = world.sandbox
    served.softDelete('events', served.liveKeys('events')[0] ?? 0)
    const [all, live] = [served.keys('events').length, served.liveKeys('events').length]
    const { stdout } = await world.run('check')
    expect(stdout).toMatch(/^configuration .*; 3 of 8 reports on, /m)
    expect(stdout).toMatch(new RegExp(`^events .*; ${live} rows \\(${all - live} deleted not counted\\); pages`, 'm'))
    expect(stdout).toMatch(/^budgets .*; \d+ rows; pages/m)
    expect(stdout).toMatch(/^enquiries .*; \d+ in all; pages/m)
    await world.configure(settings)
    expect((await world.run('check')).stdout).toMatch(
      /^events .*; 30 rows on the first page \(deleted rows not counted\)/m,
    )
  })

  it('warns of a variable that nothing reads and that looks like one that is read', async () => {
    const { code, of } = await checked([], { TIDEMARK_PAGESIZE: '50', TIDEMARK_SITE: 'north' })
    expect(code).toBe(0)
    expect(of('configuration')).toMatchObject({
      result: 'warn',
      found: expect.stringMatching(/; nothing reads TIDEMARK_PAGESIZE$/) as string,
      cure: 'Set TIDEMARK_PAGE_SIZE in place of TIDEMARK_PAGESIZE, or take it away.',
    })
  })

  it('fails for a report that is forbidden, names its code and its cure', async () => {
    const { code, told, of } = await checked(['403@merf_submissions'])
    expect({ code, ok: told.ok }).toEqual({ code: 1, ok: false })
    expect(of('merf_submissions')).toMatchObject({ result: 'fail', code: 'REPORT_FORBIDDEN' })
    expect(of('events')).toMatchObject({ result: 'ok' })
  })

  it('fails for refused credentials and asks the reports nothing', async () => {
    const { code, of } = await checked([], { REPORTING_CLIENT_SECRET: 'another' })
    expect(code).toBe(1)
    expect(of('token')).toMatchObject({ result: 'fail', code: 'CREDENTIALS_REFUSED' })
    expect(of('events')).toMatchObject({ result: 'skip' })
  })

  it.each(['clamp:50', 'clamp-silent:50'])('warns that the service cuts pages (%s)', async (fault) => {
    const { code, of } = await checked([fault])
    expect(code).toBe(0)
    for (const report of ['events', 'budgets', 'enquiries', 'merf_submissions'])
      expect(of(report)).toMatchObject({ result: 'warn', found: expect.stringContaining('50 returned') })
  })

  it('warns of scopes that were asked for and not given', async () => {
    const { code, of } = await checked([], { REPORTING_SCOPES: 'event.read,enquiries.read' })
    expect({ code, token: of('token')?.found }).toMatchObject({
      token: expect.stringContaining('requested event.read'),
    })
    const { of: withheld } = await checked([], { REPORTING_SCOPES: 'event.read,audit.write' })
    expect(withheld('token')?.result).toMatch(/warn|fail/)
  })

  it('says that pages follow each other, and warns where every page is the first one', async () => {
    const { of: well } = await checked([])
    expect(well('events')?.found).toContain('pages follow each other')
    const { code, of } = await checked(['ignore-page:echo'])
    expect(code).toBe(0)
    for (const report of ['events', 'enquiries'])
      expect(of(report)).toMatchObject({ result: 'warn', found: expect.stringContaining('ignores pageNumber') })
  })

  it('says which limit it met', async () => {
    const { of } = await checked(['429*1@events:1'])
    expect(of('limit')).toMatchObject({ result: 'warn', found: expect.stringContaining('asked to wait once') })
  })

  it('warns of clocks that are apart, and of answers without a clock', async () => {
    expect((await checked(['skew:3600'])).of('clock')).toMatchObject({
      result: 'warn',
      found: 'this machine is about 1 h behind the service',
    })
    expect((await checked(['no-date'])).of('clock')).toMatchObject({ result: 'warn' })
  })

  it('warns of a console with which no worker starts', async () => {
    const settings = { console: { host: '0.0.0.0', port: 0 } }
    await using world = await aWorld({ settings })
    const { code, stdout } = await world.run('check')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^console +warn +a worker would not start: .*TIDEMARK_CONSOLE_TOKEN/m)
    const begun = await world.run('worker')
    expect(begun).toMatchObject({ code: 2, stderr: expect.stringContaining('console.host is 0.0.0.0') })
  })

  it('fails for a warehouse that is none', async () => {
    await using world = await aWorld({ settings: { warehouse: './w.duckdb' } })
    await writeFile(path.join(world.folder, 'w.duckdb'), 'not a database at all, whatever its name says')
    const { code, stdout } = await world.run('check')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^warehouse +fail /m)
  })

  it('tells size, layout and loads once there are any', { tags: 'long' }, async () => {
    await using world = await aWorld()
    await world.run('sync', 'events', '--quiet')
    const { stdout } = await world.run('check')
    expect(stdout).toMatch(/^warehouse +ok .*MB, layout \d/m)
    expect(stdout).toMatch(/^published copy +ok .*MB, 1 load$/m)
  })
})
