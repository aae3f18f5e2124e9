/** A budget of requests that is smaller than the schedule: `status` and `check` show it, and commands still run. */
import { expect, it } from 'vitest'
import { budgetText } from '../../src/status/budgetText.ts'
import type { Standing } from '../../src/status/standing.ts'
import { aWorldWithoutCollections as aWorld } from './support.ts'

it('status and check say how much is used, what the schedule needs, and which report runs how often instead', {
  tags: 'long',
}, async () => {
  await using world = await aWorld({ sandbox: { rows: 5 }, settings: { currencies: [], reports: {} } })
  await world.run('sync', 'events', 'enquiries')
  const free = await world.run('status')
  expect(free.stdout).toMatch(/^\d+ requests in 24 h, forecast [\d,]+, the schedule needs [\d,]+$/m)
  await world.configure({
    service: { base_url: world.sandbox.url, client_id: 'acme', requests_per_day: 50 },
    reports: {},
  })
  const short = await world.run('status')
  expect(short.stdout).toMatch(/^\d+ of 50 requests in 24 h, forecast \d+, the schedule needs [\d,]{4,}$/m)
  expect(short.stdout).toMatch(/^events runs every [\d hmin]+ in place of 5m$/m)
  const standing = JSON.parse((await world.run('status', '--json')).stdout) as {
    reports: { report: string; requests: object }[]
  }
  expect(standing.reports.find(({ report }) => report === 'events')?.requests).toMatchObject({
    planned_ms: expect.any(Number),
  })
  const checked = await world.run('check')
  expect(checked.stdout).toMatch(/^requests +warn +\d+ of 50 requests in 24 h/m)
  expect(checked.stdout.replaceAll(/\s+/g, ' ')).toContain('Nothing is lost, but rows arrive later.')
  // A person may run a report at any time.
  for (const command of ['sync', 'reconcile']) expect((await world.run(command, 'events')).code).toBe(0)
  await world.configure({
    service: { base_url: world.sandbox.url, client_id: 'acme', requests_per_day: 2 },
    reports: {},
  })
  expect((await world.run('status')).stdout).toContain('Other work sends more than requests_per_day allows')
  const service = { base_url: world.sandbox.url, client_id: 'acme' }
  await world.configure({ service, reports: { events: { requests_per_day: 20 } } })
  const rarer = (await world.run('status')).stdout.match(/^\w+ runs every .* in place of 5m$/gm)
  expect(rarer).toEqual([expect.stringMatching(/^events /)])
})

it('a budget of 0, or none that is a number, is refused with its line', async () => {
  await using world = await aWorld({ settings: { reports: { events: { requests_per_day: 0 } } } })
  const refused = await world.run('status')
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('reports.events.requests_per_day') })
})

it('names what was sent, what the schedule needs, the report that runs rarer, and that other work sends too much', () => {
  const requests = { used: 12, forecast: 60, needed: 1_440, planned_ms: 1_800_000 }
  const standings = [{ report: 'events', requests }, { report: 'enquiries' }] as unknown as Standing[]
  const every = { events: { every: '5m' } }
  expect(budgetText(standings, { requestsPerDay: 50 }, every)).toEqual({
    use: '12 of 50 requests in 24 h, forecast 60, the schedule needs 1,440',
    effect: [
      'events runs every 30 min in place of 5m',
      expect.stringContaining('Nothing is lost, but rows arrive later.'),
      expect.stringContaining('Other work sends more than requests_per_day allows'),
    ],
  })
  expect(budgetText(standings.slice(1), {}, every)).toBeUndefined()
})
