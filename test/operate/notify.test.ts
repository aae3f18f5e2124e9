/** Notices: told once when it begins and once when it is over, signed, tried again, and never in the way of a run. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { Notifier, noticesFileOf } from '../../jobs/notify/notifier.ts'
import { type RunKind, Runs } from '../../jobs/runs/runs.ts'
import type { ReportName } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import type { Config } from '../../src/config/config.ts'
import { HOUR_MS, minusMs } from '../../src/instant.ts'
import { createLog } from '../../src/log.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { SyncError } from '../../src/errors.ts'
import { bookFigures } from '../../src/warehouse/books/bookFigures.ts'
import { aWorkshop, stop, until as untilWorker } from '../jobs/support.ts'
import { until } from '../cli/support.ts'
import { documents } from '../rules/markdown.ts'
import { aTide, type Tide, type TideOptions } from '../support/tide.ts'
import { aReceiver, type Receiver } from './receiver.ts'

const SECRET = 'marked-notices-secret'
const TIMES = { checkMs: 40, graceMs: 0, retryMs: 20 }

const opened: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]()
})

interface Desk {
  readonly tide: Tide
  readonly receiver: Receiver
  readonly log: string[]
  /** Starts a notifier; the returned function stops it. */
  readonly start: (clock?: typeof systemClock, config?: Config) => () => Promise<void>
  /** One try of a run, told as the worker tells it. */
  readonly run: (report: ReportName, kind?: RunKind, error?: SyncError) => Promise<void>
}

async function aDesk(options: TideOptions = {}): Promise<Desk> {
  const receiver = await aReceiver()
  const settings = { notify: { webhook: receiver.url, lag: '1h' }, ...options.settings }
  const tide = await aTide({ ...options, settings, env: { TIDEMARK_NOTIFY_SECRET: SECRET } })
  const runs = new Runs()
  const log: string[] = []
  const books = () => bookFigures(tide.warehouse)
  const start = (clock = systemClock, config = tide.config) => {
    const ending = new AbortController()
    const written = createLog({ level: 'trace', destination: { write: (line) => log.push(line) } })
    const notify = config.notify as NonNullable<typeof config.notify>
    const ended = new Notifier({ notify, config, books, runs, clock, log: written, times: TIMES }).run(ending.signal)
    return () => {
      ending.abort()
      return ended
    }
  }
  const run = async (report: ReportName, kind: RunKind = 'incremental', error?: SyncError) => {
    const place = { runId: 'r', report, kind, startedAt: systemClock.now(), cancel: () => undefined }
    await runs.during(place, async () => {
      const [outcome] = await syncAll(tide.context, [report])
      if (outcome === undefined) throw new TypeError('no outcome')
      return { outcome: error === undefined ? outcome : { ...outcome, state: 'failed', error } }
    })
  }
  opened.push(receiver, tide)
  return { tide, receiver, log, start, run }
}

const failure = (code: 'SERVICE_UNAVAILABLE' | 'MASS_DELETE_STOPPED') =>
  new SyncError(code, 'it broke', { cure: 'Mend it.' })

/** Long enough for many looks. */
const manyLooks = () => new Promise((resolve) => void setTimeout(resolve, 400))

describe('a notice', () => {
  it('is sent once when a report is paused, and once when it runs again', async () => {
    const { tide, receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    const end = start()
    await run('enquiries')
    await run('enquiries')
    await until(() => receiver.taken().length > 0, 'a notice came')
    await manyLooks()
    expect(receiver.taken()).toEqual(['report.paused firing enquiries'])
    expect(receiver.posted[0]?.notice).toMatchObject({
      code: 'REPORT_FORBIDDEN',
      cure: expect.stringContaining('check'),
    })
    await tide.warehouse.resume(['enquiries'])
    await until(() => receiver.taken().length > 1, 'it is over')
    await end()
    expect(receiver.taken()).toEqual(['report.paused firing enquiries', 'report.paused resolved enquiries'])
  })

  it('leaves no temporary file of a process that was killed while it stored its notices', async () => {
    const { tide, start } = await aDesk()
    const file = noticesFileOf(tide.config.warehouse)
    const left = path.join(path.dirname(file), `.${path.basename(file)}.1.tmp`)
    await writeFile(left, '{')
    const end = start()
    await until(async () => !existsSync(left), 'it is removed')
    await end()
  })

  it('is sent when a report failed three times in a row, not twice, and when it succeeds again', {
    tags: 'long',
  }, async () => {
    const { receiver, start, run } = await aDesk()
    const end = start()
    await run('events')
    for (let times = 1; times <= 2; times += 1) await run('events', 'incremental', failure('SERVICE_UNAVAILABLE'))
    await manyLooks()
    expect(receiver.taken()).toEqual([])
    for (let times = 3; times <= 5; times += 1) await run('events', 'incremental', failure('SERVICE_UNAVAILABLE'))
    await until(() => receiver.taken().length > 0, 'a notice came')
    await run('events')
    await until(() => receiver.taken().length > 1, 'it is over')
    await end()
    expect(receiver.taken()).toEqual(['report.failing firing events', 'report.failing resolved events'])
    expect(receiver.posted[0]?.notice).toMatchObject({ code: 'SERVICE_UNAVAILABLE', cure: 'Mend it.' })
  })

  it('is sent at once when a mass deletion was stopped, and when a reconcile succeeds', { tags: 'long' }, async () => {
    const { receiver, start, run } = await aDesk()
    const end = start()
    await run('events', 'reconcile', failure('MASS_DELETE_STOPPED'))
    await until(() => receiver.taken().length > 0, 'a notice came')
    await run('events', 'incremental')
    await manyLooks()
    expect(receiver.taken()).toEqual(['brake.pulled firing events'])
    await run('events', 'reconcile')
    await until(() => receiver.taken().length > 1, 'it is over')
    await end()
    expect(receiver.taken()[1]).toBe('brake.pulled resolved events')
  })

  it('of a brake and one of reconciles that fail otherwise are not over because of each other', {
    tags: 'long',
  }, async () => {
    const { receiver, start, run } = await aDesk()
    const end = start()
    await run('events', 'reconcile', failure('MASS_DELETE_STOPPED'))
    await until(() => receiver.taken().length > 0, 'a notice came')
    for (let times = 1; times <= 3; times += 1) await run('events', 'reconcile', failure('SERVICE_UNAVAILABLE'))
    await until(() => receiver.taken().length > 1, 'another came')
    await run('events', 'reconcile', failure('MASS_DELETE_STOPPED'))
    await manyLooks()
    expect(receiver.taken()).toEqual(['brake.pulled firing events', 'report.failing firing events'])
    await run('events', 'reconcile')
    await until(() => receiver.taken().length > 3, 'both are over')
    await end()
    expect(receiver.taken().slice(2)).toEqual(
      expect.arrayContaining(['brake.pulled resolved events', 'report.failing resolved events']),
    )
  })

  it('ends when the report is switched off, and begins again when it is switched on', { tags: 'long' }, async () => {
    const { tide, receiver, start, run } = await aDesk()
    const failing = async () => {
      for (let times = 1; times <= 3; times += 1) await run('events', 'incremental', failure('SERVICE_UNAVAILABLE'))
    }
    const end = start()
    await run('events', 'reconcile', failure('MASS_DELETE_STOPPED'))
    await failing()
    await until(() => receiver.taken().length > 1, 'it was told')
    await end()
    const { events } = tide.config.reports
    const endOff = start(systemClock, {
      ...tide.config,
      reports: { ...tide.config.reports, events: { ...events, enabled: false } },
    })
    await until(() => receiver.taken().length > 3, 'it is over')
    await endOff()
    expect(receiver.taken().slice(2).toSorted()).toEqual([
      'brake.pulled resolved events',
      'report.failing resolved events',
    ])
    const endOn = start()
    await manyLooks()
    expect(receiver.taken()).toHaveLength(4)
    await failing()
    await until(() => receiver.taken().length > 4, 'it was told again')
    await endOn()
    expect(receiver.taken().slice(4)).toEqual(['report.failing firing events'])
  })

  it('is sent when rows come that no window brought, with the overlap to set, and ends a day after the last', async () => {
    const { tide, receiver, start, run } = await aDesk({ sandbox: { rows: 20, collections: false } })
    const late = (age: number) => tide.sandbox.world.lateCommit('enquiries', age)
    await run('enquiries')
    const end = start()
    for (const ageMs of [3 * HOUR_MS, 2 * HOUR_MS]) {
      late(ageMs)
      await run('enquiries')
      await until(() => receiver.taken().length > 0, 'a notice came')
    }
    await manyLooks()
    expect(receiver.taken()).toEqual(['rows.late firing enquiries'])
    expect(receiver.posted[0]?.notice).toMatchObject({ cure: expect.stringContaining('enquiries.overlap to 6h') })
    await tide.warehouse.rows(`UPDATE tidemark.loads SET committed_at = committed_at - INTERVAL 1 DAY`)
    await until(() => receiver.taken().length > 1, 'it is over')
    await end()
    expect(receiver.taken()[1]).toBe('rows.late resolved enquiries')
  })

  it('of a brake that a comparison of counts pulled stays until a reconcile ends well', async () => {
    const { tide, receiver, start, run } = await aDesk({
      sandbox: { rows: 60, collections: false },
      settings: { defaults: { settle: '0s' } },
    })
    const { world } = tide.sandbox
    await run('enquiries')
    for (const key of world.liveKeys('enquiries').slice(0, 20)) world.softDelete('enquiries', key)
    const end = start()
    for (let times = 0; times < 4; times += 1) {
      tide.clock.pass(1_050)
      await run('enquiries')
    }
    await until(() => receiver.taken().length > 0, 'a notice came')
    await manyLooks()
    expect(receiver.taken()).toEqual(['brake.pulled firing enquiries'])
    const asked = { runId: randomUUID(), allowMassDelete: true }
    await reconcileReport(tide.context, 'enquiries', asked)
    await until(() => receiver.taken().length > 1, 'it is over')
    await end()
    expect(receiver.taken()[1]).toBe('brake.pulled resolved enquiries')
  })

  it('is tried again in time although the clock ran ahead at the last try and was set right', async () => {
    const { receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    receiver.answer(503)
    const end = start({ ...systemClock, now: () => minusMs(systemClock.now(), -30 * 86_400_000) })
    await run('enquiries')
    await until(() => receiver.posted.length > 0, 'it was tried')
    await end()
    receiver.answer(200)
    const endNext = start()
    await until(() => receiver.taken().includes('report.paused firing enquiries'), 'it was taken')
    await endNext()
  })

  it('is sent when a mark is further behind than allowed, and when it has caught up', { tags: 'long' }, async () => {
    const { receiver, start, run } = await aDesk()
    await run('events')
    let behindMs = 2 * 3_600_000
    const end = start({ ...systemClock, now: () => minusMs(systemClock.now(), -behindMs) })
    await until(() => receiver.taken().length > 0, 'a notice came')
    behindMs = 0
    await until(() => receiver.taken().length > 1, 'it is over')
    await end()
    expect(receiver.taken()).toEqual(['lag.exceeded firing events', 'lag.exceeded resolved events'])
  })

  it('is tried again with the same body until it is accepted, and is not sent again after a restart', {
    tags: 'long',
  }, async () => {
    const { receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    receiver.answer(503)
    const end = start()
    await run('enquiries')
    await until(() => receiver.posted.length >= 2, 'it was tried again')
    await end()
    receiver.answer(200)
    const endNext = start()
    await until(() => receiver.taken().length > 0, 'it was taken after the restart')
    await manyLooks()
    await endNext()
    expect(receiver.taken()).toEqual(['report.paused firing enquiries'])
    expect(new Set(receiver.posted.map(({ body }) => body)).size).toBe(1)
    const endLast = start()
    await manyLooks()
    await endLast()
    expect(receiver.taken()).toHaveLength(1)
  })

  it('is given up after its last try, and later ones are sent', async () => {
    const { tide, receiver, log, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    receiver.answer(500)
    let looks = 0
    const end = start({ ...systemClock, now: () => minusMs(systemClock.now(), -(looks += 1) * 400_000) })
    await run('enquiries')
    await until(() => log.some((line) => line.includes('given up')), 'it was given up')
    expect(receiver.posted).toHaveLength(13)
    receiver.answer(200)
    await tide.warehouse.resume(['enquiries'])
    await until(() => receiver.taken().length > 0, 'the next one came')
    await end()
    expect(receiver.taken()).toEqual(['report.paused resolved enquiries'])
  })

  it('follows no redirect', async () => {
    const { receiver, log, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    const elsewhere = await aReceiver()
    opened.push(elsewhere)
    receiver.answer(307, { location: elsewhere.url })
    const end = start()
    await run('enquiries')
    await until(() => receiver.posted.length >= 2, 'it was tried again')
    await end()
    expect(elsewhere.posted).toEqual([])
    expect(log.join('')).toContain('a redirect (307)')
  })

  it('never delays a run, even if the receiver does not respond', async () => {
    const { receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    receiver.answer('never')
    const end = start()
    await run('enquiries')
    await until(() => receiver.posted.length > 0, 'it hangs')
    await run('events')
    await end()
    expect(receiver.taken()).toEqual([])
  })

  it('shows neither its secret nor the address of its receiver in log, body or file', async () => {
    const { tide, receiver, log, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    receiver.answer(500)
    const end = start()
    await run('enquiries')
    await until(() => receiver.posted.length >= 2, 'it was tried again')
    await end()
    const kept = await readFile(noticesFileOf(tide.config.warehouse), 'utf8')
    for (const text of [log.join(''), kept, ...receiver.posted.map(({ body }) => body)]) {
      expect(text).not.toContain(SECRET)
      expect(text).not.toContain('marked-key')
    }
  })

  it('passes the check that the documents show, and no other one does', async () => {
    const { tide, receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    const end = start()
    await run('enquiries')
    await until(() => receiver.posted.length > 0, 'it came')
    await end()
    const watching = documents().find(({ name }) => name === 'docs/WATCHING.md')
    const shown = watching?.blocks.find(({ text }) => text.includes('timingSafeEqual'))?.text ?? ''
    const file = path.join(path.dirname(tide.config.warehouse), 'verify.mjs')
    await writeFile(file, shown)
    const { isOurs } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
      isOurs: (headers: object, body: string, secret: string) => boolean
    }
    const [{ headers, body }] = receiver.posted as [Receiver['posted'][number]]
    expect(isOurs(headers, body, SECRET)).toBe(true)
    expect(isOurs(headers, body.replace('enquiries', 'events'), SECRET)).toBe(false)
    expect(isOurs(headers, body, 'another secret')).toBe(false)
    expect(isOurs({ ...headers, 'tidemark-signature': 'v1=00' }, body, SECRET)).toBe(false)
    const old = String(Number(headers['tidemark-timestamp']) - 3_600)
    expect(isOurs({ ...headers, 'tidemark-timestamp': old }, body, SECRET)).toBe(false)
  })
})

describe('a worker with a webhook', () => {
  it('informs it that a report is paused', { tags: 'long', timeout: 120_000 }, async () => {
    await using receiver = await aReceiver()
    await using shop = await aWorkshop({
      store: 'redis',
      sandbox: { faults: ['403@events'] },
      settings: { notify: { webhook: receiver.url } },
      env: { TIDEMARK_NOTIFY_SECRET: SECRET },
    })
    const worker = shop.worker()
    await untilWorker(() => receiver.taken().length > 0)
    await stop(worker)
    expect(receiver.taken()).toEqual(['report.paused firing events'])
    expect(worker.said()).not.toContain(SECRET)
  })
})
