/** Messages: their formats, their order, and what is kept for a receiver that does not accept them. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Deliveries, type DeliveriesOptions, WAITING_MAX } from '../../jobs/notify/deliveries.ts'
import { noticesFileOf, openNoticeBook, readMemory } from '../../jobs/notify/memory.ts'
import { systemClock } from '../../src/clock.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { asSyncError } from '../../src/errors.ts'
import { createLog } from '../../src/log.ts'
import { REQUIRED_ENV } from '../config/folder.ts'
import { type Cursor, START } from '../../src/warehouse/books/cursor.ts'
import type { ChangedReport, NewData } from '../../src/warehouse/books/newData.ts'
import { aFolder } from '../support/warehouse.ts'
import { aReceiver, type Receiver, SIGNING_SECRET } from './receiver.ts'

let opened: AsyncDisposableStack
let folder: string
let receiver: Receiver
beforeEach(async () => {
  opened = new AsyncDisposableStack()
  folder = opened.use(await aFolder()).path
  await mkdir(path.join(folder, 'data'))
  receiver = opened.use(await aReceiver())
})
afterEach(() => opened.disposeAsync())

/** Both receivers post to the same address. */
async function configOf(notify: object, env: Readonly<Record<string, string>> = {}): Promise<Config> {
  await writeFile(path.join(folder, 'tidemark.yaml'), JSON.stringify({ notify }))
  const secrets = { TIDEMARK_NOTIFY_SECRET: SIGNING_SECRET, TIDEMARK_NOTIFY_A_SECRET: SIGNING_SECRET }
  return loadConfig({ env: { ...REQUIRED_ENV, ...secrets, ...env }, cwd: folder })
}

const SEVEN: Cursor = '7-9f3a2c11d0b7'
const NINE: Cursor = '9-0f3a2c11d0b7'

const never = new AbortController().signal

async function aPile(config: Config, more: Partial<DeliveriesOptions> = {}) {
  const log: string[] = []
  const counted: string[] = []
  const book = await openNoticeBook(config.warehouse)
  const deliveries = new Deliveries({
    config,
    book,
    readNewData: async () => undefined,
    clock: systemClock,
    log: createLog({ level: 'trace', destination: { write: (line) => log.push(line) } }),
    onMessage: (event, outcome) => counted.push(`${event} ${outcome}`),
    ...more,
  })
  return { book, deliveries, log, counted }
}

const aNotice = (id: string, state: 'firing' | 'resolved' = 'firing') => ({
  id,
  event: 'report.paused' as const,
  state,
  condition: 'paused events',
  report: 'events' as const,
  code: 'REPORT_FORBIDDEN',
  message: 'events is paused: 403 <no & never>',
  cure: 'Ask for the permission.',
  at: '2026-01-31T12:00:00.000000Z',
  service: 'reports.example.com',
  host: 'here',
})

const someData = (from: Cursor, to: Cursor): ChangedReport => ({
  report: 'events',
  cursor: { from, to },
  rows: { inserted: 3, updated: 2, deleted: 1, children_written: 0 },
  mark: '2026-01-31T12:00:00.000000Z',
  loads: { count: 1, ids: [7] },
})

describe('a receiver', () => {
  it('that accepts nothing loses its oldest notice when more than 1,000 wait, which is logged and counted', async () => {
    const config = await configOf({ webhook: receiver.url })
    const { deliveries, log, counted, book } = await aPile(config)
    for (let number = 0; number <= WAITING_MAX + 1; number += 1) deliveries.add(aNotice(String(number)))
    expect(book.memory.receivers['notify.webhook']?.waiting.map(({ id }) => id).slice(0, 2)).toEqual(['2', '3'])
    expect(counted).toEqual(['report.paused dropped', 'report.paused dropped'])
    expect(log.join('')).toContain('notify.webhook has not accepted 1000 notices: the oldest one is dropped')
    receiver.answer(503)
    await deliveries.deliver('notify.webhook', never).catch(asSyncError)
    expect(receiver.posted.map(({ notice }) => notice.id)).toEqual(['2'])
    expect((await readMemory(config.warehouse)).receivers['notify.webhook']?.waiting).toHaveLength(WAITING_MAX)
  })

  it('gets its messages in order, also after a restart between two tries, and each has one identifier', async () => {
    const config = await configOf({ webhook: receiver.url })
    const first = await aPile(config)
    first.deliveries.add(aNotice('1'))
    first.deliveries.add(aNotice('2', 'resolved'))
    receiver.answer(503)
    const refused = await first.deliveries.deliver('notify.webhook', never).catch(asSyncError)
    expect(refused).toMatchObject({ code: 'DELIVERY_FAILED', message: expect.stringContaining('status 503') })
    receiver.answer(200)
    const next = await aPile(config)
    await next.deliveries.deliver('notify.webhook', never)
    await next.deliveries.deliver('notify.webhook', never)
    expect(receiver.posted.map(({ headers }) => headers['webhook-id'])).toEqual(['1', '1', '2'])
    expect(receiver.posted[0]?.body).toBe(receiver.posted[1]?.body)
  })

  it('that is slow does not delay another one', async () => {
    const config = await configOf({ webhook: receiver.url, notices: { a: { webhook: receiver.url } } })
    const { deliveries } = await aPile(config)
    deliveries.add(aNotice('1'))
    receiver.answer('never')
    const ending = new AbortController()
    const hanging = deliveries.deliver('notify.webhook', ending.signal).catch(asSyncError)
    while (receiver.posted.length === 0) await systemClock.sleep(5)
    receiver.answer(200)
    await deliveries.deliver('notify.notices.a', never)
    expect(receiver.taken()).toHaveLength(1)
    ending.abort()
    expect(await hanging).toMatchObject({ code: 'CANCELLED' })
  })

  it('can postpone the next try by Retry-After, at most by an hour', async () => {
    const { deliveries } = await aPile(await configOf({ webhook: receiver.url }))
    deliveries.add(aNotice('1'))
    for (const [seconds, ms] of [
      ['120', 120_000],
      ['86400', 3_600_000],
    ] as const) {
      receiver.answer(429, { 'retry-after': seconds })
      const error = await deliveries.deliver('notify.webhook', never).catch(asSyncError)
      expect(error).toMatchObject({ data: { retryAfterMs: ms } })
    }
    receiver.answer(429, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' })
    expect(await deliveries.deliver('notify.webhook', never).catch(asSyncError)).toMatchObject({
      data: {},
    })
  })

  it('that was removed from the settings is forgotten, and its job ends', async () => {
    const first = await aPile(await configOf({ webhook: receiver.url }))
    first.deliveries.add(aNotice('1'))
    await first.book.save()
    const next = await aPile(await configOf({ data: { a: { webhook: receiver.url } } }))
    await next.deliveries.deliver('notify.webhook', never)
    await next.book.save()
    expect(receiver.posted).toEqual([])
    expect(await readFile(noticesFileOf(path.join(folder, 'data/warehouse.duckdb')), 'utf8')).not.toContain(
      'notify.webhook',
    )
  })

  it('that is new begins with the conditions that have not ended', async () => {
    const first = await aPile(await configOf({ webhook: receiver.url }))
    first.book.memory.firing['paused events'] = aNotice('1')
    await first.book.save()
    const both = await configOf({ webhook: receiver.url, notices: { a: { webhook: receiver.url } } })
    const next = await aPile(both)
    await next.deliveries.deliver('notify.webhook', never)
    expect(receiver.posted).toEqual([])
    await next.deliveries.deliver('notify.notices.a', never)
    expect(receiver.taken()).toEqual(['report.paused firing events'])
  })

  it('gets a message about new data again after a restart, with its identifier, and then what has changed since', async () => {
    const config = await configOf({ data: { a: { webhook: receiver.url } } })
    const known: (string | undefined)[] = []
    const changes: NewData[] = [
      { to: SEVEN, changed: [someData(START, SEVEN)] },
      { to: NINE, changed: [someData(SEVEN, NINE)] },
    ]
    const readNewData: DeliveriesOptions['readNewData'] = async ({ cursors }) => {
      known.push(cursors.events)
      return changes.shift() ?? { to: NINE, changed: [] }
    }
    receiver.answer('never')
    const first = await aPile(config, { readNewData })
    const ending = new AbortController()
    const hanging = first.deliveries.deliver('notify.data.a', ending.signal).catch(asSyncError)
    // The next process reads only what was stored before the post, as after a crash.
    while (receiver.posted.length === 0) await systemClock.sleep(5)
    receiver.answer(200)
    const next = await aPile(config, { readNewData })
    await next.deliveries.deliver('notify.data.a', never)
    expect(known).toEqual([undefined, SEVEN, NINE])
    expect(receiver.data().map(({ cursor }) => cursor)).toEqual([
      { from: START, to: SEVEN },
      { from: SEVEN, to: NINE },
    ])
    const [again, once, other] = receiver.posted.map(({ headers }) => headers['webhook-id'])
    expect(again).toBe(once)
    expect(other).not.toBe(once)
    ending.abort()
    await hanging
  })
})

describe('the format', () => {
  it('slack posts text to the address that is the secret, without markup of the message', async () => {
    const config = await configOf({ format: 'slack' }, { TIDEMARK_NOTIFY_SECRET: receiver.url })
    const { deliveries, log } = await aPile(config)
    deliveries.add(aNotice('1'))
    deliveries.add(aNotice('2', 'resolved'))
    await deliveries.deliver('notify.webhook', never)
    expect(receiver.posted.map(({ body }) => JSON.parse(body) as object)).toEqual([
      {
        text: '*Problem* (reports.example.com on here)\nevents is paused: 403 &lt;no &amp; never&gt;\nWhat to do: Ask for the permission.',
      },
      { text: '*Over* (reports.example.com on here)\nevents is paused: 403 &lt;no &amp; never&gt;' },
    ])
    expect(log.join('')).not.toContain('marked-key')
  })

  it('slack names report, rows and mark of new data', async () => {
    const settings = { data: { a: { format: 'slack' } } }
    const config = await configOf(settings, { TIDEMARK_NOTIFY_A_SECRET: receiver.url })
    const changes = [{ to: SEVEN, changed: [someData(START, SEVEN)] }]
    const { deliveries } = await aPile(config, { readNewData: async () => changes.shift() })
    await deliveries.deliver('notify.data.a', never)
    expect(JSON.parse(receiver.posted[0]?.body ?? '')).toEqual({
      text: expect.stringContaining('*New data* (reports.example.com on '),
    })
  })

  it('pagerduty triggers an alert and resolves the same one, with the integration key in the body only', async () => {
    const key = 'marked-integration-key-0123456789'
    const settings = { format: 'pagerduty', webhook: receiver.url }
    const { deliveries, log } = await aPile(await configOf(settings, { TIDEMARK_NOTIFY_SECRET: key }))
    deliveries.add(aNotice('1'))
    deliveries.add(aNotice('2', 'resolved'))
    await deliveries.deliver('notify.webhook', never)
    const events = receiver.posted.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    expect(events.map(({ event_action }) => event_action)).toEqual(['trigger', 'resolve'])
    expect(new Set(events.map(({ dedup_key }) => dedup_key)).size).toBe(1)
    expect(events[0]).toMatchObject({
      routing_key: key,
      dedup_key: 'tidemark reports.example.com here paused events',
      payload: {
        summary: 'events is paused: 403 <no & never>',
        source: 'here',
        severity: 'error',
        custom_details: { cure: 'Ask for the permission.', code: 'REPORT_FORBIDDEN' },
      },
    })
    expect(log.join('')).not.toContain(key)
  })
})
