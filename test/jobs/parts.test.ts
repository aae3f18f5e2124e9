/** The small parts of the worker: what becomes of errors, who holds a lease, when things are done. */
import { describe, expect, it } from 'vitest'
import { Leases } from '../../jobs/owner/leases.ts'
import {
  CANCELLED_ON_REQUEST,
  errorOfReason,
  OVERTAKEN,
  retryDelayMs,
  STOPPING,
  verdictOf,
} from '../../jobs/queue/jobOutcome.ts'
import { schedulersOf } from '../../jobs/schedule/schedule.ts'
import type { Config } from '../../src/config/config.ts'
import { type ErrorCode, errorCodes, SyncError } from '../../src/errors.ts'
import { configOf } from './support.ts'

const error = (code: ErrorCode, data = {}) => new SyncError(code, 'it broke', { cure: 'Mend it.', data })

describe('an error', () => {
  it('is tried again when it may pass, and given up when it never will', () => {
    expect(verdictOf(error('SERVICE_TIMEOUT'), undefined)).toBe('try again')
    expect(verdictOf(error('DISK_FULL'), undefined)).toBe('try again')
    expect(verdictOf(error('UNEXPECTED'), undefined)).toBe('try again')
    for (const code of ['SCOPE_MISSING', 'REPORT_FORBIDDEN', 'CREDENTIALS_REFUSED', 'CONFIG_INVALID'] as const)
      expect(verdictOf(error(code), undefined)).toBe('give up')
  })

  it('waits for an operator for the errors that it names, unless it was aborted', () => {
    const paused = new SyncError('REPORT_PAUSED', 'by hand', { cure: 'Resume it.' })
    expect(verdictOf(paused, undefined)).toBe('give up')
    expect(verdictOf(paused, undefined, ['REPORT_PAUSED'])).toBe('wait')
    expect(verdictOf(paused, CANCELLED_ON_REQUEST, ['REPORT_PAUSED'])).toBe('give up')
  })

  it('of a stopping worker returns the job to the queue, whatever it was', () => {
    for (const code of errorCodes) expect(verdictOf(error(code), STOPPING)).toBe('hand back')
  })

  it('of a job that another worker has by now is dropped', () => {
    expect(verdictOf(error('FENCED'), undefined)).toBe('drop')
    expect(verdictOf(error('CANCELLED'), OVERTAKEN)).toBe('drop')
    expect(verdictOf(error('CANCELLED'), 'the lock of the job was lost')).toBe('drop')
    expect(verdictOf(error('CANCELLED'), CANCELLED_ON_REQUEST)).toBe('give up')
  })

  it('keeps its code on the way through the queue', () => {
    expect(errorOfReason('SCOPE_MISSING: events: no\nscope')).toMatchObject({
      code: 'SCOPE_MISSING',
      message: 'events: no\nscope',
    })
    expect(errorOfReason('job stalled')).toMatchObject({ code: 'UNEXPECTED', message: 'job stalled' })
  })

  it('is tried again after growing delays, or after the delay that the service requested', () => {
    const waits = [1, 2, 3, 4, 5, 20].map((tries) => retryDelayMs(tries, undefined, () => 1))
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 300_000])
    expect(retryDelayMs(1, undefined, () => 0)).toBe(1_000)
    expect(retryDelayMs(1, error('RATE_LIMITED', { retryAfterMs: 90_000 }), () => 1)).toBe(90_000)
  })
})

describe('a lease', () => {
  const signal = new AbortController().signal

  it('calls off a leftover of the same kind and begins when that has ended', async () => {
    const leases = new Leases()
    const events: string[] = []
    const end = Promise.withResolvers<void>()
    const cancel = () => {
      events.push('first called off')
      end.resolve()
    }
    const first = leases.hold({ name: 'incremental events', runKey: 'incremental', signal, cancel }, async () => {
      await end.promise
      await new Promise((resolve) => void setImmediate(resolve))
      events.push('first ended')
    })
    const ask = { name: 'incremental events', runKey: 'incremental', signal, cancel: () => undefined }
    await leases.hold(ask, async () => void events.push('second began'))
    await first
    expect(events).toEqual(['first called off', 'first ended', 'second began'])
  })

  it('waits for a holder of another kind, and for no other', async () => {
    const leases = new Leases()
    const events: string[] = []
    const end = Promise.withResolvers<void>()
    const cancel = () => void events.push('called off')
    const name = 'incremental events'
    const reconcile = leases.hold({ name, runKey: 'reconcile', signal, cancel }, async () => {
      await end.promise
      events.push('reconciled')
    })
    const run = leases.hold({ name, runKey: 'incremental', signal, cancel }, async () => void events.push('ran'))
    await leases.hold(
      { name: 'incremental budgets', runKey: 'incremental', signal, cancel },
      async () => void events.push('another report ran'),
    )
    end.resolve()
    await Promise.all([reconcile, run])
    expect(events).toEqual(['another report ran', 'reconciled', 'ran'])
  })

  it('is not given to one who was called off while it waited', async () => {
    const leases = new Leases()
    const end = Promise.withResolvers<void>()
    const waiting = new AbortController()
    const name = 'backfill events'
    const first = leases.hold({ name, runKey: 'a', signal, cancel: () => undefined }, () => end.promise)
    const second = leases.hold(
      { name, runKey: 'b', signal: waiting.signal, cancel: () => undefined },
      async () => 'ran',
    )
    waiting.abort(error('CANCELLED'))
    end.resolve()
    await expect(second).rejects.toMatchObject({ code: 'CANCELLED' })
    await first
    expect(await leases.hold({ name, runKey: 'c', signal, cancel: () => undefined }, async () => 'ran')).toBe('ran')
  })
})

const ids = (config: Config): string[] => schedulersOf(config).map(({ id }) => id)

const offsetsOf = (config: Config): number[] =>
  schedulersOf(config).flatMap(({ id, repeat }) =>
    id.startsWith('incremental-') ? ['offset' in repeat ? repeat.offset : -1] : [],
  )

describe('the schedule', () => {
  it('has for each report a fixed offset in the interval', async () => {
    const schedulers = schedulersOf(await configOf())
    const offsets = offsetsOf(await configOf())
    expect(new Set(offsets).size).toBe(offsets.length)
    expect(offsets.every((offset) => offset > 0 && offset < 300_000)).toBe(true)
    expect(schedulersOf(await configOf())).toEqual(schedulers)
  })

  it('lets reports with a short interval begin together, because one wake-up then serves all of them', async () => {
    expect(new Set(offsetsOf(await configOf({ TIDEMARK_EVERY: '10s' })))).toEqual(new Set([1]))
    expect(new Set(offsetsOf(await configOf({ TIDEMARK_EVERY: '30s' })))).toEqual(new Set([1, 10_000, 20_000]))
  })

  it('leaves out reports that are off, and reconciles that are not wanted or make no sense', async () => {
    const all = ids(await configOf())
    expect(all).toContain('reconcile-events')
    expect(all).not.toContain('incremental-audit_entries')
    expect(all).not.toContain('reconcile-enquiry_audit_entries')
    expect(ids(await configOf({ TIDEMARK_REPORTS: 'events', TIDEMARK_RECONCILE_EVERY: 'never' }))).toEqual([
      'incremental-events',
      'checkpoint',
      'retention',
    ])
  })

  it('reads cron lines in the zone that is set', async () => {
    const config = await configOf({ TIDEMARK_EVERY: '0 6 * * *', TIDEMARK_TIME_ZONE: 'Europe/Paris' })
    expect(schedulersOf(config)[0]).toMatchObject({ repeat: { pattern: '0 6 * * *', tz: 'Europe/Paris' } })
  })
})
