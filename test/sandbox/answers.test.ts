/** What an answer holds (spec §2): envelope or bare array, paging, fields, collections, the two shapes of an event. */
import { describe, expect, it } from 'vitest'
import { DEFINITIONS } from '../../src/sandbox/reports/index.ts'
import { WORLD_REPORTS } from '../../src/sandbox/server.ts'
import { aCaller, sorted, type Envelope, type Row } from './caller.ts'
import { HandClock } from './handClock.ts'
import { FIELDS, FLAGS, KEYS, LEAST, OBJECTS, PATHS } from './specification.ts'

const BARE = WORLD_REPORTS.filter((report) => !DEFINITIONS[report].envelope)

describe.each(WORLD_REPORTS)('%s', (report) => {
  it(`answers with ${BARE.includes(report) ? 'a bare array' : 'the page envelope'}`, async () => {
    await using caller = await aCaller()
    const answer = (await (await caller.report(report, { pageSize: 7 })).json()) as Envelope
    if (BARE.includes(report)) expect(answer).toHaveLength(7)
    else
      expect(answer).toMatchObject({
        items: { length: 7 },
        pageNumber: 1,
        pageSize: 7,
        totalCount: 120 * DEFINITIONS[report].rowsPerEvent,
      })
  })

  it('pages through every row exactly once, and is empty behind the last page', { tags: 'long' }, async () => {
    await using caller = await aCaller()
    const pages: number[][] = []
    for (let pageNumber = 1; pages.at(-1)?.length !== 0; pageNumber += 1)
      pages.push(await caller.keys(report, { pageNumber, pageSize: 7 }))
    expect(pages.slice(0, -2).every((page) => page.length === 7)).toBe(true)
    expect(sorted(pages.flat())).toEqual(sorted(caller.world.liveKeys(report)))
  })

  it('sends a hundred rows when no size is requested, and never more than its maximum', async () => {
    await using caller = await aCaller({ rows: 600, pageSizeMax: 150 })
    expect(await caller.keys(report, { pageSize: null })).toHaveLength(100)
    expect(await caller.keys(report, { pageSize: 100_000 })).toHaveLength(150)
    if (!BARE.includes(report)) expect((await caller.envelope(report, { pageSize: 100_000 })).pageSize).toBe(150)
  })

  it('carries every documented field with its type, and some undocumented ones', async () => {
    await using caller = await aCaller()
    for (const row of await caller.rows(report)) {
      for (const [field, type] of Object.entries(FIELDS[report]))
        expect([field, typeof row[field]]).toEqual([field, type])
      expect(Object.keys(row).length).toBeGreaterThan(Object.keys(FIELDS[report]).length + 2)
    }
  })

  it('carries each collection only when its flag is true', async () => {
    await using caller = await aCaller()
    const collections = FLAGS[report].split(' ').map((flag) => [flag, flag === 'commissions' ? 'commission' : flag])
    const all = collections.map(([, field]) => field as string)
    for (const [flag = '', field = ''] of collections) {
      const rows = await caller.rows(report, { expand: { [flag]: true } })
      const others = all.filter((each) => each !== field)
      expect(rows.every((row) => field in row && !others.some((other) => other in row))).toBe(true)
      expect(rows.some((row) => !isEmpty(row[field]))).toBe(true)
      for (const row of rows) expect(Array.isArray(row[field])).toBe(!OBJECTS.includes(field))
    }
    const none = await caller.rows(report, { expand: Object.fromEntries(collections.map(([flag]) => [flag, false])) })
    expect(none.some((row) => all.some((field) => field in row))).toBe(false)
  })

  it('sends the row that the world returns for it', async () => {
    await using caller = await aCaller({ rows: 40 })
    const expand = Object.fromEntries(FLAGS[report].split(' ').map((flag) => [flag, true]))
    for (let i = 0; i < 60; i += 1) caller.world.tick(report)
    for (const row of await caller.rows(report, { expand })) {
      expect(row).toEqual(caller.world.row(report, Number(row[KEYS[report]])))
    }
  })
})

const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0)

describe('budgets', () => {
  it('are converted to the target currency, and come back to the same text for the same one', async () => {
    await using caller = await aCaller()
    const [euro, dollar, again] = await Promise.all(
      ['EUR', 'USD', 'EUR'].map(async (targetCurrencyCode) =>
        (await caller.report('budgets', { targetCurrencyCode })).text(),
      ),
    )
    expect(again).toBe(euro)
    expect(dollar).not.toBe(euro)
    expect((JSON.parse(dollar as string) as Row[]).every((row) => row['currencyCode'] === 'USD')).toBe(true)
  })

  it('have amounts that a double cannot hold, with nine fractional digits at most', async () => {
    await using caller = await aCaller({ rows: 300 })
    const text = await (await caller.report('budgets', { pageSize: 1_000 })).text()
    const amounts = [...text.matchAll(/"totalAmount":(-?\d+(?:\.\d+)?)[,}]/g)].map((match) => match[1] as string)
    expect(amounts).toHaveLength((JSON.parse(text) as Row[]).length)
    expect(amounts.every((amount) => (amount.split('.')[1] ?? '').length <= 9)).toBe(true)
    expect(amounts.some((amount) => amount.replace('.', '').length > 15)).toBe(true)
  })
})

describe('events', () => {
  it('come in the summary shape when that is switched on', async () => {
    await using caller = await aCaller({ eventShape: 'summary' })
    const rows = await caller.rows('events', { expand: { meetingRooms: true } })
    expect(rows.every((row) => Object.keys(row).join() === 'eventId,eventName,modifiedAt,totalChanges')).toBe(true)
    expect(rows.every((row) => Number(row['totalChanges']) >= 1)).toBe(true)
  })

  it('count in totalChanges the changes of the requested period', async () => {
    const clock = new HandClock()
    await using caller = await aCaller({ eventShape: 'summary', clock })
    const [key = 0] = caller.world.liveKeys('events')
    caller.world.edit('events', key)
    const entries = caller.world
      .auditEntries(3, key)
      .filter((entry) => entry.at >= caller.world.stampsOf('events', key).modified)
    const [row] = await caller.rows('events', { modifiedSince: '2026-03-01T12:00:00Z' })
    expect(row).toMatchObject({ eventId: key, totalChanges: entries.length })
  })

  it('come in both shapes when they are mixed, each event always in the same', async () => {
    await using caller = await aCaller({ eventShape: 'mixed' })
    const shapes = async () => (await caller.rows('events')).map((row) => 'eventName' in row)
    const first = await shapes()
    expect(new Set(first)).toEqual(new Set([true, false]))
    expect(await shapes()).toEqual(first)
  })
})

describe('every answer', () => {
  it('carries the Date of the sandbox clock and a JSON content type', async () => {
    await using caller = await aCaller({ clock: new HandClock('2026-03-01T12:00:00.900Z') })
    const answers = [
      await caller.report('enquiries'),
      await caller.report('events', { modifiedSince: 'x' }),
      await caller.post('/nowhere', {}),
    ]
    expect(answers.map((answer) => answer.headers.get('date'))).toEqual(Array(3).fill('Sun, 01 Mar 2026 12:00:00 GMT'))
    expect(answers.every((answer) => answer.headers.get('content-type')?.startsWith('application/json'))).toBe(true)
  })

  it('has the configured number of items in collections', async () => {
    await using two = await aCaller({ itemsPerCollection: 2 })
    await using none = await aCaller({ collections: false })
    const expand = { meetingRooms: true, commissions: true }
    expect(
      (await two.rows('events', { expand })).every(
        (row) => (row['meetingRooms'] as unknown[]).length === 2 && row['commission'] !== null,
      ),
    ).toBe(true)
    expect(
      (await none.rows('events', { expand })).every(
        (row) => isEmpty(row['meetingRooms']) && row['commission'] === null,
      ),
    ).toBe(true)
  })

  it.each(['gzip', 'br'] as const)(
    'is compressed with %s for who accepts it, when that is switched on',
    async (compress) => {
      await using caller = await aCaller({ compress })
      const Authorization = `Bearer ${await caller.token()}`
      const plain = await caller.post(PATHS.events, LEAST.events, { Authorization, 'Accept-Encoding': 'identity' })
      const packed = await caller.post(PATHS.events, LEAST.events, {
        Authorization,
        'Accept-Encoding': `x, ${compress};q=0.9`,
      })
      expect([plain.headers.get('content-encoding'), packed.headers.get('content-encoding')]).toEqual([null, compress])
      expect([plain.headers.get('vary'), packed.headers.get('vary')]).toEqual([null, 'Accept-Encoding'])
      expect(Number(packed.headers.get('content-length'))).toBeLessThan(Number(plain.headers.get('content-length')))
      expect(await packed.json()).toEqual(await plain.json())
    },
  )
})
