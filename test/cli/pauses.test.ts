/** Pausing, resuming and reconciling from the command line. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { aWorldWithoutCollections as aWorld } from './support.ts'

describe('tidemark pause and resume', () => {
  it('let sync skip a report, with exit code 1 and the reason, until it is resumed', { tags: 'long' }, async () => {
    await using world = await aWorld()
    expect(await world.run('pause', 'events')).toMatchObject({ code: 0, stdout: 'paused: events\n' })
    const skipped = await world.run('sync', 'events')
    expect(skipped.code).toBe(1)
    expect(skipped.stdout).toMatch(/^events +paused /m)
    expect(skipped.stdout).toContain('tidemark resume events')
    expect(world.sandbox.requests.total).toBe(0)
    expect((await world.run('status')).stdout).toContain('events is paused: paused by an operator')
    expect((await world.run('resume', 'events')).code).toBe(0)
    expect((await world.run('sync', 'events')).code).toBe(0)
  })

  it('refuse a report that does not exist, with 2', async () => {
    await using world = await aWorld()
    expect((await world.run('resume', 'event')).code).toBe(2)
  })

  it('once the credentials are refused neither verify nor a dry run asks for a token, until check or resume', {
    tags: 'long',
  }, async () => {
    await using world = await aWorld()
    await world.run('sync', 'events', 'enquiries')
    const wrong = (...args: string[]) => world.runWith({ REPORTING_CLIENT_SECRET: 'wrong' }, ...args)
    await wrong('sync', 'events')
    const asked = world.sandbox.requests.total
    const verified = await wrong('verify', 'events', 'enquiries')
    expect(verified).toMatchObject({ code: 1, stdout: expect.stringContaining('(CREDENTIALS_REFUSED)') })
    const planned = await wrong('backfill', 'enquiries', '--dry-run')
    expect(planned).toMatchObject({ code: 1, stderr: expect.stringContaining('CREDENTIALS_REFUSED') })
    expect(world.sandbox.requests.total).toBe(asked)
    // What counts events is in the warehouse.
    expect((await wrong('backfill', 'events', '--dry-run')).code).toBe(0)
    await world.run('check')
    expect((await world.run('verify', 'events', 'enquiries')).code).toBe(0)
    expect((await world.run('backfill', 'enquiries', '--dry-run')).code).toBe(0)
  })

  it('a check that passes resumes what the service had refused', { tags: 'long' }, async () => {
    await using world = await aWorld({ sandbox: { faults: ['403@enquiries'] } })
    await world.run('sync', 'enquiries')
    world.sandbox.setFaults([])
    expect((await world.run('sync', 'enquiries')).code).toBe(1)
    expect((await world.run('check')).stdout).toMatch(/resumed.*enquiries/)
    expect((await world.run('sync', 'enquiries')).code).toBe(0)
  })
})

describe('tidemark reconcile', () => {
  it('says what it found, and marks what two reconciles in a row did not find', { tags: 'long' }, async () => {
    await using world = await aWorld()
    await world.run('sync', 'enquiries')
    const [key] = world.sandbox.world.liveKeys('enquiries') as [number]
    world.sandbox.world.softDelete('enquiries', key)
    // A row that was read in the second in which a reconcile starts is not absent.
    await systemClock.sleep(1_050)
    expect((await world.run('reconcile', 'enquiries')).stdout).toMatch(/^enquiries +\d+ +0 +0 +1 +0/m)
    const { code, stdout } = await world.run('reconcile', 'enquiries', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ reports: [{ report: 'enquiries', found: { deleted: 1 } }] })
    const deleted = await world.run('query', '--format', 'csv', 'SELECT enquiry_id FROM enquiries WHERE is_deleted')
    expect(deleted.stdout).toBe(`enquiry_id\n${key}\n`)
  })

  it('asks nothing of a report that is paused, and for no token where the credentials are refused, with 1 and the reason', {
    tags: 'long',
  }, async () => {
    await using world = await aWorld()
    await world.run('pause', 'enquiries')
    const paused = await world.run('reconcile', 'enquiries')
    expect(paused.code).toBe(1)
    expect(paused.stdout).toContain('enquiries failed: paused by an operator (REPORT_PAUSED)')
    expect(paused.stdout).not.toContain('were repaired')
    expect(world.sandbox.requests.total).toBe(0)
    await using stranger = await aWorld({ env: { REPORTING_CLIENT_SECRET: 'wrong' } })
    await stranger.run('sync', 'enquiries')
    const asked = stranger.sandbox.requests.total
    const refused = await stranger.run('reconcile', 'enquiries')
    expect(refused.code).toBe(1)
    expect(refused.stdout).toContain('nothing was asked')
    expect(stranger.sandbox.requests.total).toBe(asked)
  })

  it('refuses an audit report, whose entries never change', { tags: 'long' }, async () => {
    await using world = await aWorld()
    expect((await world.run('reconcile', 'enquiry_audit_entries')).code).not.toBe(0)
  })
})
