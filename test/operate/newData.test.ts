/** Messages about new data: each change of the published rows is in one of them, also after crashes. */
import { rm } from 'node:fs/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { noticesFileOf, readMemory } from '../../jobs/notify/memory.ts'
import { loadOf, START } from '../../src/warehouse/books/cursor.ts'
import { openPublished } from '../../src/wiring/published.ts'
import { aWorkshop, OWNS, hasSaid, published, stop, type Workshop } from '../jobs/support.ts'
import { until } from '../cli/support.ts'
import { aDesk, type Desk, type DeskOptions } from './desk.ts'
import { aReceiver, type Receiver, SIGNING_SECRET } from './receiver.ts'

const opened: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]()
})

async function openDesk(options: DeskOptions = {}): Promise<Desk> {
  const desk = await aDesk({ takes: 'data', sandbox: { rows: 20 }, ...options })
  opened.push(desk)
  return desk
}

/** One more row that the next run inserts. */
const change = ({ tide }: Desk): void => {
  tide.clock.pass(60_000)
  tide.sandbox.world.edit('events', tide.sandbox.world.liveKeys('events')[0] as number)
}

interface LoadRow {
  readonly report: string
  readonly id: number
  readonly inserted: number
  readonly updated: number
}

/** The loads of the published copy that changed rows, oldest first. */
const LOADS = `SELECT report, load_id AS id, inserted, updated FROM tidemark.loads
  WHERE inserted + updated + deleted + children_written > 0 ORDER BY load_id`

/** Every changed load is in exactly one accepted message, messages are in order, and counts agree. */
function expectEverything(receiver: Receiver, loads: readonly LoadRow[]): void {
  // A message that arrived twice has the same content.
  const accepted = [...new Map(receiver.data().map((each) => [JSON.stringify(each), each])).values()]
  for (const report of new Set(loads.map((load) => load.report))) {
    const ofReport = loads.filter((load) => load.report === report)
    const messages = accepted.filter((each) => each.report === report)
    expect(messages.flatMap(({ loads: { ids } }) => ids)).toEqual(ofReport.map(({ id }) => id))
    for (const { rows, loads: of, cursor } of messages) {
      const covered = ofReport.filter(({ id }) => of.ids.includes(id))
      expect(rows.inserted).toBe(covered.reduce((sum, { inserted }) => sum + inserted, 0))
      expect(rows.updated).toBe(covered.reduce((sum, { updated }) => sum + updated, 0))
      expect(covered.every(({ id }) => id > loadOf(cursor.from) && id <= loadOf(cursor.to))).toBe(true)
    }
    expect(messages[0]?.cursor.from).toBe(START)
  }
}

describe('new data', () => {
  it('is posted for each report after a publication, with counts, mark and loads, and not when no row changed', async () => {
    const desk = await openDesk()
    const { tide, receiver, start, run, publish } = desk
    const end = await start()
    await run('events')
    await run('enquiries')
    await publish()
    await until(() => receiver.posted.length >= 2, 'both came')
    const [mark] = await tide.warehouse.rows<{ mark: string }>(
      `SELECT strftime(mark AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') AS mark FROM tidemark.freshness WHERE report = 'events'`,
    )
    expect(receiver.posted[0]?.notice).toMatchObject({
      event: 'data.published',
      message: 'events: 20 rows inserted, 0 updated, 1 deleted',
      data: { cursor: { from: START }, rows: { inserted: 20, updated: 0 }, mark: mark?.mark, loads: { count: 1 } },
    })
    tide.clock.pass(60_000)
    await run('events')
    await publish()
    change(desk)
    await run('events')
    await publish()
    await until(() => receiver.posted.length >= 3, 'the edit came')
    await end()
    expect(receiver.data()[2]).toMatchObject({ report: 'events', rows: { inserted: 0, updated: 1 } })
    await using copy = await openPublished(tide.config)
    // The change feed accepts the cursor, and returns the row that the message counts.
    const last = receiver.data()[2]?.cursor.from ?? ''
    expect(await copy.rows(`SELECT _change FROM changes.events('${last}')`)).toEqual([{ _change: 'update' }])
    expectEverything(receiver, await tide.warehouse.rows(LOADS))
  })

  it('is not posted before it is published', async () => {
    const { receiver, start, run, publish } = await openDesk()
    await run('events')
    const end = await start()
    await run('enquiries')
    expect(receiver.posted).toEqual([])
    await publish()
    await until(() => receiver.posted.length >= 2, 'both came')
    await end()
  })

  it('that is published while a receiver is down takes one message per report, and nothing is lost', async () => {
    const desk = await openDesk()
    const { tide, receiver, start, run, publish } = desk
    receiver.answer(503)
    const end = await start()
    await run('events')
    await publish()
    await until(() => receiver.posted.length > 0, 'it was tried')
    for (let times = 0; times < 4; times += 1) {
      change(desk)
      await run('events')
      await publish()
    }
    const { receivers } = await readMemory(tide.config.warehouse)
    expect(receivers['notify.data.pipeline']?.waiting).toHaveLength(1)
    receiver.answer(200)
    await until(() => receiver.data().length >= 2, 'all came')
    await end()
    expect(receiver.data().map(({ loads }) => loads.count)).toEqual([1, 4])
    expectEverything(receiver, await tide.warehouse.rows(LOADS))
  })

  it('reaches several receivers, each of them in order and only with its reports', async () => {
    const other = await aReceiver()
    opened.push(other)
    const receivers = (url: string) => ({
      pipeline: { webhook: url },
      extracts: { webhook: other.url, reports: ['enquiries'] },
    })
    const { tide, receiver, counted, start, run, publish } = await openDesk({
      receivers,
      env: { TIDEMARK_NOTIFY_EXTRACTS_SECRET: SIGNING_SECRET },
    })
    receiver.answer('never')
    const end = await start()
    await run('events')
    await run('enquiries')
    await publish()
    // A notifier that stops before it has read the response posts the message again at its next start.
    await until(
      () => counted.includes('data.published delivered'),
      'the other one has it, although the first one hangs',
    )
    expect(receiver.data()).toEqual([])
    receiver.answer(200)
    await end()
    const endNext = await start()
    await until(() => receiver.data().length >= 2, 'the first one has both')
    await endNext()
    expect(other.data().map(({ report }) => report)).toEqual(['enquiries'])
    expectEverything(receiver, await tide.warehouse.rows(LOADS))
  })

  it('of a report is posted again from its beginning after the stored state was lost', async () => {
    const { tide, receiver, start, run, publish } = await openDesk()
    await run('events')
    await publish()
    const end = await start()
    await until(() => receiver.data().length > 0, 'it came')
    await end()
    await rm(noticesFileOf(tide.config.warehouse))
    const endNext = await start()
    await until(() => receiver.data().length > 1, 'it came again')
    await endNext()
    expect(receiver.data()[1]).toEqual(receiver.data()[0])
  })
})

describe('a restored warehouse', () => {
  it('is posted from its beginning, because the receiver has a state that the warehouse does not know', async () => {
    const desk = await openDesk()
    const { tide, receiver, counted, start, run, publish } = desk
    await run('events')
    await run('enquiries')
    await publish()
    const end = await start()
    // A notifier that stops before it has read the response posts the message again at its next start.
    const delivered = () => counted.filter((each) => each === 'data.published delivered').length
    await until(() => delivered() >= 2, 'both are delivered')
    await end()
    // After a restore, other loads get the numbers of the lost ones.
    await tide.warehouse.rows(`UPDATE tidemark.loads SET run_id = 'another'`)
    change(desk)
    await run('events')
    await publish()
    const endNext = await start()
    await until(() => receiver.data().length >= 4, 'both came again')
    await endNext()
    expect(receiver.data().slice(2)).toMatchObject([
      { report: 'events', cursor: { from: START }, loads: { count: 2 } },
      { report: 'enquiries', cursor: { from: START } },
    ])
  })
})

async function aShop(store: 'redis' | 'embedded', receiver: Receiver): Promise<Workshop> {
  const shop = await aWorkshop({
    store,
    sandbox: { rows: 20, changesPerSecond: 20 },
    settings: { notify: { data: { pipeline: { webhook: receiver.url } } } },
    env: { TIDEMARK_NOTIFY_PIPELINE_SECRET: SIGNING_SECRET },
  })
  opened.push(shop)
  return shop
}

describe('a worker that is killed', () => {
  it.each(['redis', 'embedded'] as const)(
    'between publication and post loses no message, on the store %s',
    { tags: 'long', timeout: 300_000 },
    async (store) => {
      const receiver = await aReceiver()
      opened.push(receiver)
      const shop = await aShop(store, receiver)
      for (let kill = 0; kill < 4; kill += 1) {
        // Kills before the answer of the first try, after a refused try, and soon after the start.
        receiver.answer(kill % 2 === 0 ? 'never' : 503)
        const seen = receiver.posted.length
        const worker = shop.worker()
        await until(() => (kill === 3 ? hasSaid(worker, OWNS) : receiver.posted.length > seen), 'it posts')
        worker.kill('SIGKILL')
        await worker.ended
      }
      receiver.answer(200)
      const last = shop.worker()
      await until(() => receiver.data().length >= 3, 'messages come')
      const covered = async () => {
        const ids = new Set(receiver.data().flatMap(({ loads }) => loads.ids))
        return (await published<LoadRow>(shop, LOADS)).slice(0, 6).every(({ id }) => ids.has(id))
      }
      await until(covered, 'the first loads are there')
      await stop(last)
      const loads = await published<LoadRow>(shop, LOADS)
      const newest = Math.max(...receiver.data().flatMap(({ loads: { ids } }) => ids))
      expectEverything(
        receiver,
        loads.filter(({ id }) => id <= newest),
      )
      expect(last.said()).not.toContain('whsec_')
    },
  )
})
