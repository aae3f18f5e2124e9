/** `tidemark wait` ends when the published copy is complete, at its time limit, or when a report does not run. */
import { describe, expect, it } from 'vitest'
import { readinessOf } from '../../src/operations/waitForReports.ts'
import { parseInstant } from '../../src/instant.ts'
import type { Standing } from '../../src/status/standing.ts'
import { aWorldWithoutCollections as aWorld, type World } from './support.ts'

interface Waited {
  readonly reports: readonly { report: string; state: string; mark: string | null; reason: string | null }[]
}

async function waitJson(world: World, ...args: string[]) {
  const { code, stdout } = await world.run('wait', ...args, '--json')
  return { code, ...(JSON.parse(stdout) as Waited) }
}

describe('wait', () => {
  it('ends with 0 as soon as another process has published rows up to the time', async () => {
    await using world = await aWorld()
    // A mark is older than the newest rows by the setting `settle`.
    const until = new Date(Date.now() - 300_000).toISOString()
    const waiting = waitJson(world, 'events', 'budgets', '--until', until, '--timeout', '2m')
    await world.run('sync', 'events')
    await world.run('sync', 'budgets')
    const { code, reports } = await waiting
    expect(code).toBe(0)
    expect(reports.map(({ report, state }) => [report, state])).toEqual([
      ['events', 'complete'],
      ['budgets', 'complete'],
    ])
    for (const { mark } of reports) expect(Date.parse(mark ?? '')).toBeGreaterThanOrEqual(Date.parse(until))
    const { stdout } = await world.run('wait', 'events', '--fresh', '1h')
    expect(stdout).toMatch(/^events: complete up to 20\d\d-\S+Z\n$/)
  })

  it('ends with 1 at its time limit, and names the reason; with 3 for a report that is off', async () => {
    await using world = await aWorld({ settings: { reports: { merf_submissions: { enabled: false } } } })
    expect(await waitJson(world, 'events', '--fresh', '1h', '--timeout', '0s')).toMatchObject({
      code: 1,
      reports: [{ state: 'late', reason: 'nothing was published yet' }],
    })
    await world.run('sync', 'events')
    const late = await world.run('wait', 'events', '--until', '2100-01-01', '--timeout', '1s')
    expect(late.code).toBe(1)
    expect(late.stdout).toMatch(/^events: not complete: it is complete only up to 20\d\d-\S+Z\n$/)
    const never = await world.run('wait', 'enquiries', '--fresh', '1h', '--timeout', '0s')
    expect(never.stdout).toBe('enquiries: not complete: it was never read to its end\n')
    expect((await world.run('wait', 'merf_submissions', '--fresh', '1h')).code).toBe(3)
  })

  it('ends with 3 without waiting when a report that is not complete is paused or off', { tags: 'long' }, async () => {
    await using world = await aWorld({ settings: { reports: { enquiries: { enabled: false } } } })
    await world.run('sync', 'events')
    await world.run('pause', 'events')
    const paused = await world.run('wait', 'events', '--until', '2100-01-01')
    expect(paused.code).toBe(3)
    expect(paused.stdout).toContain('; it is paused: ')
    expect((await world.run('wait', 'events', '--fresh', '1h')).code).toBe(0)
    expect((await world.run('wait', 'enquiries', '--fresh', '1h')).code).toBe(3)
  })

  it('refuses a call without a time, with two times, and with a report that does not exist', async () => {
    await using world = await aWorld()
    for (const args of [
      ['events'],
      ['events', '--fresh', '1h', '--until', '2026-01-01'],
      ['invoices', '--fresh', '1h'],
    ])
      expect((await world.run('wait', ...args)).code).toBe(2)
    expect((await world.run('wait', '--fresh', 'soon')).stderr).toContain('a duration such as 90s')
  })
})

const at = (hour: number) => `2026-01-01T${String(hour).padStart(2, '0')}:00:00.000000Z`

describe('a report', () => {
  const standing = {
    report: 'events',
    state: 'done',
    mark: at(9),
    not_running_because: null,
    error: null,
    coverage: [{ scope: '', asked: true, covered: [], gaps: [{ since: at(3), until: at(4) }], reading_again: null }],
  } as unknown as Standing

  it.each([
    [3, 'complete', null],
    [4, 'late', `rows modified from ${at(3)} to ${at(4)} are not read yet`],
    [10, 'late', `it is complete only up to ${at(9)}`],
  ])('with a gap from 3 to 4 and a mark at 9 is, up to %i o’clock, %s', (hour, state, reason) => {
    expect(readinessOf(standing, parseInstant(at(hour)) ?? (0 as never))).toMatchObject({ state, reason })
  })

  it('that is read again from the beginning is not complete at any time', () => {
    const again = { since: null, until: at(5), because: ['start'], records: null }
    const scope = { scope: '', asked: true, covered: [], gaps: [], reading_again: again }
    const found = readinessOf(
      { ...standing, coverage: [scope] } as unknown as Standing,
      parseInstant(at(1)) ?? (0 as never),
    )
    expect(found).toMatchObject({
      state: 'late',
      reason: `rows modified from the beginning to ${at(5)} are not read yet`,
    })
  })
})
