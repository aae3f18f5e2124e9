/** Notices: one when a condition begins and one when it ends, signed, tried again, and never in the way of a run. */
import { randomUUID } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { noticesFileOf } from '../../jobs/notify/memory.ts'
import { systemClock } from '../../src/clock.ts'
import { HOUR_MS, minusMs, plusMs } from '../../src/instant.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import { SyncError } from '../../src/errors.ts'
import { aWorkshop, stop, until as untilWorker } from '../jobs/support.ts'
import { until } from '../cli/support.ts'
import { aDesk as openDesk, type Desk, type DeskOptions } from './desk.ts'
import { documents } from '../rules/markdown.ts'
import { aFolder } from '../support/warehouse.ts'
import { aReceiver, type Receiver, SIGNING_SECRET } from './receiver.ts'

const opened: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]()
})

async function aDesk(options: DeskOptions = {}): Promise<Desk> {
  const desk = await openDesk(options)
  opened.push(desk)
  return desk
}

const failure = (code: 'SERVICE_UNAVAILABLE' | 'MASS_DELETE_STOPPED') =>
  new SyncError(code, 'it broke', { cure: 'Mend it.' })

/** Long enough for many looks. */
const manyLooks = () => new Promise((resolve) => void setTimeout(resolve, 400))

describe('a notice', () => {
  it('is sent once when a report is paused, and once when it runs again', async () => {
    const { tide, receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    const end = await start()
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
    const end = await start()
    await until(async () => !existsSync(left), 'it is removed')
    await end()
  })

  it('is sent when a report failed three times in a row, not twice, and when it succeeds again', {
    tags: 'long',
  }, async () => {
    const { receiver, start, run } = await aDesk()
    const end = await start()
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
    const end = await start()
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
    const end = await start()
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
    const { tide, receiver, counted, start, run } = await aDesk()
    // A message that the receiver took just before the end, so that its answer was not read, comes again afterwards.
    const delivered = () => counted.filter((each) => each.endsWith(' delivered')).length
    const failing = async () => {
      for (let times = 1; times <= 3; times += 1) await run('events', 'incremental', failure('SERVICE_UNAVAILABLE'))
    }
    const end = await start()
    await run('events', 'reconcile', failure('MASS_DELETE_STOPPED'))
    await failing()
    await until(() => delivered() > 1, 'it was told')
    await end()
    const { events } = tide.config.reports
    const endOff = await start(systemClock, {
      ...tide.config,
      reports: { ...tide.config.reports, events: { ...events, enabled: false } },
    })
    await until(() => delivered() > 3, 'it is over')
    await endOff()
    expect(receiver.taken().slice(2).toSorted()).toEqual([
      'brake.pulled resolved events',
      'report.failing resolved events',
    ])
    const endOn = await start()
    await manyLooks()
    expect(receiver.taken()).toHaveLength(4)
    await failing()
    await until(() => delivered() > 4, 'it was told again')
    await endOn()
    expect(receiver.taken().slice(4)).toEqual(['report.failing firing events'])
  })

  it('is sent when rows come that no window brought, with the overlap to set, and ends a day after the last', async () => {
    const { tide, receiver, start, run } = await aDesk({ sandbox: { rows: 20 } })
    const late = (age: number) => tide.sandbox.world.lateCommit('enquiries', age)
    await run('enquiries')
    const end = await start()
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

  it('is sent when a reconcile finds rows that no window brought, and ends with a reconcile that finds none', async () => {
    const { tide, receiver, start, run } = await aDesk({ sandbox: { rows: 20 } })
    await run('events')
    tide.sandbox.world.lateCommit('events', 3 * HOUR_MS)
    await run('events')
    const end = await start()
    await manyLooks()
    expect(receiver.taken()).toEqual([])
    await reconcileReport(tide.context, 'events', { runId: randomUUID(), allowMassDelete: false })
    await until(() => receiver.taken().length > 0, 'a notice came')
    expect(receiver.posted[0]?.notice).toMatchObject({
      event: 'rows.late',
      message: expect.stringContaining('found and stored 1 row that'),
      cure: expect.stringContaining('events.overlap'),
    })
    await reconcileReport(tide.context, 'events', { runId: randomUUID(), allowMassDelete: false })
    await until(() => receiver.taken().length > 1, 'it is over')
    await end()
    expect(receiver.taken()[1]).toBe('rows.late resolved events')
  })

  it('of a brake that a comparison of counts pulled stays until a reconcile ends well', async () => {
    const { tide, receiver, start, run } = await aDesk({
      sandbox: { rows: 60 },
      settings: { defaults: { settle: '0s' } },
    })
    const { world } = tide.sandbox
    await run('enquiries')
    for (const key of world.liveKeys('enquiries').slice(0, 20)) world.softDelete('enquiries', key)
    const end = await start()
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

  it('is sent when a mark is further behind than allowed, and when it has caught up', { tags: 'long' }, async () => {
    const { receiver, start, run } = await aDesk()
    await run('events')
    let behindMs = 2 * 3_600_000
    const end = await start({ ...systemClock, now: () => minusMs(systemClock.now(), -behindMs) })
    await until(() => receiver.taken().length > 0, 'a notice came')
    behindMs = 0
    await until(() => receiver.taken().length > 1, 'it is over')
    await end()
    expect(receiver.taken()).toEqual(['lag.exceeded firing events', 'lag.exceeded resolved events'])
  })

  it('is not sent about the lag of a report that the budget lets run so rarely', async () => {
    const { tide, receiver, start, run } = await aDesk()
    await run('events')
    await tide.warehouse.recordRequests(
      Array.from({ length: 10 }, () => ({ report: 'events' as const, kind: 'incremental' })),
      systemClock.now(),
    )
    const later = { ...systemClock, now: () => plusMs(systemClock.now(), 2 * HOUR_MS) }
    const end = await start(later, { ...tide.config, requestsPerDay: 10 })
    await manyLooks()
    await end()
    expect(receiver.taken()).toEqual([])
    const endWithout = await start(later)
    await until(() => receiver.taken().length > 0, 'without the budget it is late')
    await endWithout()
    expect(receiver.taken()).toEqual(['lag.exceeded firing events'])
  })

  it('is tried again with the same body until it is accepted, and is not sent again after a restart', {
    tags: 'long',
  }, async () => {
    const { receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    receiver.answer(503)
    const end = await start()
    await run('enquiries')
    await until(() => receiver.posted.length >= 2, 'it was tried again')
    await end()
    receiver.answer(200)
    const endNext = await start()
    await until(() => receiver.taken().length > 0, 'it was taken after the restart')
    await manyLooks()
    await endNext()
    expect(receiver.taken()).toEqual(['report.paused firing enquiries'])
    expect(new Set(receiver.posted.map(({ body }) => body)).size).toBe(1)
    const endLast = await start()
    await manyLooks()
    await endLast()
    expect(receiver.taken()).toHaveLength(1)
  })

  it('follows no redirect', async () => {
    const { receiver, log, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    const elsewhere = await aReceiver()
    opened.push(elsewhere)
    receiver.answer(307, { location: elsewhere.url })
    const end = await start()
    await run('enquiries')
    await until(() => receiver.posted.length >= 2, 'it was tried again')
    await end()
    expect(elsewhere.posted).toEqual([])
    expect(log.join('')).toContain('status 307')
  })

  it('never delays a run, even if the receiver does not respond', async () => {
    const { receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    receiver.answer('never')
    const end = await start()
    await run('enquiries')
    await until(() => receiver.posted.length > 0, 'it hangs')
    await run('events')
    await end()
    expect(receiver.taken()).toEqual([])
  })

  it('shows neither its secret nor the address of its receiver in log, body or file', async () => {
    const { tide, receiver, log, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    receiver.answer(500)
    const end = await start()
    await run('enquiries')
    await until(() => receiver.posted.length >= 2, 'it was tried again')
    await end()
    const kept = await readFile(noticesFileOf(tide.config.warehouse), 'utf8')
    for (const text of [log.join(''), kept, ...receiver.posted.map(({ body }) => body)]) {
      expect(text).not.toContain(SIGNING_SECRET)
      expect(text).not.toContain('marked-key')
    }
  })

  it('passes the library of the Standard Webhooks specification, and no changed one does', async () => {
    const { receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
    const end = await start()
    await run('enquiries')
    await until(() => receiver.posted.length > 0, 'it came')
    await end()
    const { Webhook } = createRequire(import.meta.url)('standardwebhooks') as { Webhook: WebhookClass }
    const [{ headers, body, notice }] = receiver.posted as [Receiver['posted'][number]]
    const webhook = new Webhook(SIGNING_SECRET)
    expect(webhook.verify(body, headers)).toEqual(notice)
    expect(() => webhook.verify(body.replace('enquiries', 'events'), headers)).toThrow('No matching signature')
    expect(() => webhook.verify(body, { ...headers, 'webhook-id': randomUUID() })).toThrow('No matching signature')
    const old = String(Number(headers['webhook-timestamp']) - 3_600)
    expect(() => webhook.verify(body, { ...headers, 'webhook-timestamp': old })).toThrow('too old')
    const other = `whsec_${Buffer.from('another secret of 24 bytes').toString('base64')}`
    expect(() => new Webhook(other).verify(body, headers)).toThrow('No matching signature')
  })
})

/** A message and its header fields, some of which were changed, and whether the check of a document must pass. */
async function forgeries(): Promise<readonly (readonly [object, string, string, boolean])[]> {
  const { receiver, start, run } = await aDesk({ sandbox: { faults: ['403@enquiries'] } })
  const end = await start()
  await run('enquiries')
  await until(() => receiver.posted.length > 0, 'it came')
  await end()
  const [{ headers, body }] = receiver.posted as [Receiver['posted'][number]]
  const signature = String(headers['webhook-signature'])
  const old = String(Number(headers['webhook-timestamp']) - 3_600)
  return [
    [headers, body, SIGNING_SECRET, true],
    // While a key is changed, there can be two signatures.
    [{ ...headers, 'webhook-signature': `v1,AAAA v2,BBBB ${signature}` }, body, SIGNING_SECRET, true],
    [headers, body.replace('enquiries', 'events'), SIGNING_SECRET, false],
    [headers, body, `whsec_${Buffer.from('another secret of 24 bytes').toString('base64')}`, false],
    [{ ...headers, 'webhook-signature': 'v1,AAAA' }, body, SIGNING_SECRET, false],
    [{ ...headers, 'webhook-timestamp': old }, body, SIGNING_SECRET, false],
    [{ ...headers, 'webhook-id': randomUUID() }, body, SIGNING_SECRET, false],
  ]
}

const shownIn = (kind: string, text: string): string => {
  const task = documents().find(({ name }) => name === 'docs/tasks/new-data.md')
  return task?.blocks.find((block) => block.kind === kind && block.text.includes(text))?.text ?? ''
}

describe('the check that the document shows', () => {
  it('in Node accepts our messages and no changed one', async () => {
    await using folder = await aFolder()
    const file = path.join(folder.path, 'verify.mjs')
    await writeFile(file, shownIn('js', 'isGenuine'))
    const { isGenuine } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
      isGenuine: (headers: object, body: string, secret: string) => boolean
    }
    for (const [headers, body, secret, isOurs] of await forgeries())
      expect(isGenuine(headers, body, secret), JSON.stringify(headers)).toBe(isOurs)
  })

  it('in Python accepts our messages and no changed one', async () => {
    const program = `${shownIn('python', 'is_genuine')}
import json, sys
print(json.dumps([is_genuine(headers, body.encode(), secret) for headers, body, secret, _ in json.load(sys.stdin)]))`
    const cases = await forgeries()
    const printed = execFileSync('python3', ['-c', program], { input: JSON.stringify(cases), encoding: 'utf8' })
    expect(JSON.parse(printed)).toEqual(cases.map(([, , , isOurs]) => isOurs))
  })
})

/** The part of the library's class that the test calls. */
type WebhookClass = new (secret: string) => { verify(body: string, headers: object): unknown }

describe('a worker with a webhook', () => {
  it('informs it that a report is paused', { tags: 'long', timeout: 120_000 }, async () => {
    await using receiver = await aReceiver()
    await using shop = await aWorkshop({
      store: 'redis',
      sandbox: { faults: ['403@events'] },
      settings: { notify: { webhook: receiver.url } },
      env: { TIDEMARK_NOTIFY_SECRET: SIGNING_SECRET },
    })
    const worker = shop.worker()
    await untilWorker(() => receiver.taken().length > 0)
    await stop(worker)
    expect(receiver.taken()).toEqual(['report.paused firing events'])
    expect(worker.said()).not.toContain(SIGNING_SECRET)
  })
})
