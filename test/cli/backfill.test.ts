/** `tidemark backfill` as people run it: what it prints, what it writes, how it is stopped and goes on. */
import { describe, expect, it } from 'vitest'
import { startRedis } from '../support/redisServer.ts'
import { compareEstimate, reportRequests, rowsOf, told } from './backfillEstimate.ts'
import { aWorldWithoutCollections as aWorld, until } from './support.ts'

const SMALL = { sandbox: { rows: 200 }, settings: { defaults: { page_size: 10 } } }

describe('tidemark backfill', () => {
  it('reads whole reports, publishes them and says what came of it', async () => {
    await using world = await aWorld(SMALL)
    const { code, stdout, stderr } = await world.run('backfill', 'enquiries', 'events')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^events +done +2000-01-01T00:00:00Z .* 32\/32 +0 /m)
    expect(stdout).toMatch(/^enquiries +done /m)
    expect(stdout).not.toContain('no rows were modified')
    expect(stdout).toMatch(/^published copy: .*published\.duckdb$/m)
    const [held] = await rowsOf<{ n: number }>(world, 'SELECT count(*) AS n FROM enquiries')
    expect(held?.n).toBe(world.sandbox.world.keys('enquiries').length)
    expect(await rowsOf(world, 'SELECT * FROM tidemark.marks')).toEqual([])
  })

  it('names the range if no row was modified in it, and ends with 0', async () => {
    await using world = await aWorld(SMALL)
    const range = ['--from', '2001-01-01', '--to', '2001-02-01']
    const { code, stdout } = await world.run('backfill', 'events', 'enquiries', ...range)
    expect(code).toBe(0)
    for (const report of ['events', 'enquiries'])
      expect(stdout).toContain(
        `${report}: no rows were modified between 2001-01-01T00:00:00Z and 2001-02-01T00:00:00Z\n`,
      )
  })

  it.each([
    ['enquiries', 1],
    ['events', 2],
  ] as const)(
    'says in a dry run about how many requests it takes, and writes nothing: %s',
    { tags: 'long' },
    compareEstimate,
  )

  it('shows the windows of a dry run to people', async () => {
    await using world = await aWorld(SMALL)
    const ask = ['--from', '2020-01-01', '--dry-run']
    const { code, stdout } = await world.run('backfill', 'enquiries', 'events', ...ask)
    expect(code).toBe(0)
    // Nothing says how many events there are: each of the windows takes one request or more.
    expect(stdout).toMatch(/^events: (\d+) windows, at least \1 requests\n[^]* unknown {2}1 or more\n/m)
    const told = /^enquiries: \d+ windows, about (\d+) requests, (\d+) of them to plan it$/m.exec(stdout)
    const [requests, planning] = [Number(told?.[1]), Number(told?.[2])]
    const shown = [...stdout.matchAll(/^ +\d+ +20.*Z +20.*Z +\d+ +(\d+)$/gm)].map((match) => Number(match[1]))
    expect(requests - planning).toBe(shown.reduce((sum, each) => sum + each, 0))
    expect(stdout).toMatch(/nothing was written/)
  })

  it('that is stopped says how to go on, and the same command goes on with what is missing', {
    tags: 'long',
  }, async () => {
    await using world = await aWorld({ ...SMALL, sandbox: { rows: 400, faults: ['slow:60'] } })
    const running = world.start(['backfill', 'enquiries'])
    const isUnderWay = () =>
      world.sandbox.requests.list().filter(({ body }) => /modifiedSince.*pageSize":10\b/.test(body ?? '')).length > 12
    await until(isUnderWay, 'windows are read')
    running.kill('SIGINT')
    const stopped = await running.ended
    expect(stopped.code).toBe(130)
    const [, done, all, id] =
      /enquiries: (\d+) of (\d+) windows done; the same command goes on with backfill (\S+)/.exec(stopped.stderr) ?? []
    expect(id, stopped.stderr).toBeDefined()
    expect(Number(done)).toBeLessThan(Number(all))
    world.sandbox.setFaults([])
    const dry = await world.run('backfill', 'enquiries', '--dry-run')
    expect(dry.stdout).toContain(`goes on with backfill ${id}`)
    const again = await world.run('backfill', 'enquiries', '--json')
    expect(again.code).toBe(0)
    expect(told(again).backfills[0]).toMatchObject({ state: 'done', backfill_id: id, windows: Number(all) })
    const [held] = await rowsOf<{ n: number }>(world, 'SELECT count(*) AS n FROM enquiries')
    expect(held?.n).toBe(world.sandbox.world.keys('enquiries').length)
  })

  it('that was cancelled is told as that when it is cancelled again, and one that is not known as that', {
    tags: 'long',
  }, async () => {
    await using redis = await startRedis()
    await using world = await aWorld({ sandbox: { faults: ['403@events'] }, settings: { queue: redis.url } })
    const failed = JSON.parse((await world.run('backfill', 'events', '--json')).stdout) as object
    expect(failed).toMatchObject({ backfills: [{ report: 'events', error: { code: 'REPORT_FORBIDDEN' } }] })
    const [book] = await rowsOf<{ id: string }>(world, 'SELECT backfill_id AS id FROM tidemark.backfills')
    const id = book?.id ?? ''
    expect(await world.run('cancel', id)).toMatchObject({ code: 0, stdout: 'cancelled: the backfill of events\n' })
    const again = { code: 0, stdout: 'cancelled already: the backfill of events\n' }
    expect(await world.run('cancel', id)).toMatchObject(again)
    const worker = world.start(['worker'], { isTied: true })
    await until(() => worker.said().includes('this process owns the warehouse'), 'a worker that owns the warehouse')
    await until(async () => (await world.run('cancel', id)).stdout === again.stdout, 'the worker says so too')
    expect(await world.run('cancel', 'nothing')).toMatchObject({ code: 2 })
    worker.kill('SIGTERM')
    await worker.ended
  })

  it('ends with 1 and says which report failed, after the others are done', { tags: 'long' }, async () => {
    await using world = await aWorld({
      sandbox: { rows: 20, clients: [{ forbidden: ['enquiries'] }] } as never,
      settings: { defaults: { page_size: 10 } },
    })
    const { code, stdout } = await world.run('backfill', 'enquiries', 'events')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^events +done/m)
    expect(stdout).toMatch(/^enquiries failed: .*REPORT_FORBIDDEN/m)
    expect(stdout).toMatch(/what to do: /)
  })
})

describe('a range that cannot be', () => {
  it.each([
    [['events', '--from', '2024-02-01', '--to', '2024-01-01'], 'the range ends before it begins'],
    [['events', '--to', '2099-01-01'], 'the range ends in the future'],
    [['events', '--from', '1990-01-01'], 'where events is configured to start'],
    [['events', '--from', 'yesterday'], 'It must be a time such as'],
    [['audit_entries'], "audit_entries can't be backfilled"],
    [[], 'missing required argument'],
    [['event'], 'there is no report "event"'],
  ])('%j ends with 2: %s', async (args, message) => {
    await using world = await aWorld()
    const { code, stderr } = await world.run('backfill', ...args)
    expect({ code, told: stderr.includes(message) || stderr }).toEqual({ code: 2, told: true })
    expect(stderr).toMatch(/what to do {2}\S/)
    expect(reportRequests(world)).toBe(0)
  })
})
