/** Each fault does what its line in `faultNames` says, where and as often as it is told to. */
import { describe, expect, it } from 'vitest'
import { faultNames } from '../../src/sandbox/options.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { aCaller, sorted, type Envelope } from './caller.ts'
import { HandClock } from './handClock.ts'

const walk = { pageSize: 10 }

describe('a fault of paging', () => {
  it('clamp cuts the page and its envelope has the cut size; with clamp-silent it has the requested size', async () => {
    await using caller = await aCaller({ faults: ['clamp:5'] })
    expect(await caller.envelope('enquiries', walk)).toMatchObject({ items: { length: 5 }, pageSize: 5 })
    caller.sandbox.setFaults(['clamp-silent:5'])
    expect(await caller.envelope('enquiries', walk)).toMatchObject({ items: { length: 5 }, pageSize: 10 })
    const second = await caller.keys('enquiries', { ...walk, pageNumber: 2 })
    expect(await caller.keys('enquiries', { ...walk, pageNumber: 1 })).not.toEqual(second)
  })

  it('raise sends longer pages than requested, and loses no row', async () => {
    await using caller = await aCaller({ faults: ['raise:25'] })
    expect(await caller.envelope('enquiries', walk)).toMatchObject({ items: { length: 25 }, pageSize: 10 })
    const pages = [1, 2].map((pageNumber) => caller.keys('enquiries', { ...walk, pageNumber }))
    expect(sorted((await Promise.all(pages)).flat())).toEqual(sorted(caller.world.liveKeys('enquiries').slice(0, 50)))
  })

  it('ignore-page always sends the first page, and with :echo the envelope has the requested number', async () => {
    await using caller = await aCaller()
    const first = await caller.envelope('enquiries', walk)
    caller.sandbox.setFaults(['ignore-page'])
    expect(await caller.envelope('enquiries', { ...walk, pageNumber: 3 })).toEqual(first)
    caller.sandbox.setFaults(['ignore-page:echo'])
    expect(await caller.envelope('enquiries', { ...walk, pageNumber: 3 })).toEqual({ ...first, pageNumber: 3 })
  })

  it('short-page halves the second page and loses no row', async () => {
    await using caller = await aCaller({ faults: ['short-page'] })
    const pages: number[][] = []
    for (let pageNumber = 1; pageNumber <= 8; pageNumber += 1)
      pages.push(await caller.keys('enquiries', { ...walk, pageNumber }))
    expect(pages.map((page) => page.length)).toEqual([10, 5, 10, 10, 10, 10, 5, 0])
    expect(sorted(pages.flat())).toEqual(sorted(caller.world.liveKeys('enquiries')))
  })

  it('beyond refuses a page number behind the last page, and no other', async () => {
    await using caller = await aCaller({ faults: ['beyond'] })
    const statusOf = async (pageNumber: number) => (await caller.report('enquiries', { ...walk, pageNumber })).status
    expect([await statusOf(1), await statusOf(6), await statusOf(7)]).toEqual([200, 200, 400])
  })

  it('cap pages to a number of rows, and further pages are empty', async () => {
    await using caller = await aCaller({ faults: ['cap:25'] })
    const pages = await Promise.all([2, 3, 4].map((pageNumber) => caller.keys('enquiries', { ...walk, pageNumber })))
    expect(pages.map((page) => page.length)).toEqual([10, 5, 0])
  })

  it('total-lies shifts totalCount', async () => {
    await using caller = await aCaller({ faults: ['total-lies:-2'] })
    expect((await caller.envelope('enquiries')).totalCount).toBe(58)
  })

  it('unordered sends the same rows in another order at each request', async () => {
    await using caller = await aCaller({ faults: ['unordered'] })
    const [one, two] = [await caller.keys('events'), await caller.keys('events')]
    expect(one).not.toEqual(two)
    expect(sorted(one)).toEqual(sorted(two))
  })

  it('duplicate-row sends the first row of a page twice', async () => {
    await using caller = await aCaller({ faults: ['duplicate-row'] })
    const keys = await caller.keys('merf_submissions', walk)
    expect([keys.length, new Set(keys).size, keys.at(-1)]).toEqual([11, 10, keys[0]])
  })

  it('drift changes the report after each page of a longer walk, and nothing after a single page', async () => {
    await using caller = await aCaller({ faults: ['drift:4'] })
    const texts = () => caller.world.keys('enquiries').map((key) => caller.world.rowText('enquiries', key))
    const before = texts()
    await caller.rows('enquiries')
    expect(texts()).toEqual(before)
    await caller.envelope('enquiries', walk)
    expect(texts()).not.toEqual(before)
  })

  it('bad-rows damages some rows and leaves the JSON readable', async () => {
    await using caller = await aCaller({ faults: ['bad-rows:3'] })
    const rows = await caller.rows('enquiries')
    const whole = rows.filter(
      (row) => Number.isInteger(row['enquiryId']) && typeof row['bookerEmail'] === 'string' && !('surprise' in row),
    )
    expect(rows).toHaveLength(60)
    expect(rows.length - whole.length).toBeGreaterThan(5)
    expect(await caller.rows('enquiries')).toEqual(rows)
  })

  it('fx moves converted amounts without any edit', async () => {
    await using caller = await aCaller()
    const amounts = async () =>
      (await caller.rows('budgets', { targetCurrencyCode: 'USD' })).map(({ totalAmount, ...rest }) => [
        totalAmount,
        rest,
      ])
    const before = await amounts()
    caller.sandbox.setFaults(['fx:2'])
    const after = await amounts()
    expect(after.map(([, rest]) => rest)).toEqual(before.map(([, rest]) => rest))
    expect(after.map(([amount]) => amount)).not.toEqual(before.map(([amount]) => amount))
    caller.sandbox.setFaults([])
    expect(await amounts()).toEqual(before)
  })
})

describe('a fault of the answer', () => {
  it.each([
    ['429:7', 429, 'retry-after', '7'],
    ['5xx', 503, 'content-type', 'application/json; charset=utf-8'],
    ['5xx:500', 500, 'content-type', 'application/json; charset=utf-8'],
    ['html', 200, 'content-type', 'text/html; charset=utf-8'],
    ['empty-body', 200, 'content-length', '0'],
    ['redirect:http://127.0.0.1:9/x', 302, 'location', 'http://127.0.0.1:9/x'],
    ['401-always', 401, 'www-authenticate', 'Bearer error="invalid_token"'],
    ['403', 403, 'content-type', 'application/json; charset=utf-8'],
  ])('%s answers with %i and %s: %s', async (fault, status, header, value) => {
    await using caller = await aCaller({ faults: [fault] })
    const response = await caller.report('events')
    expect([response.status, response.headers.get(header)]).toEqual([status, value])
  })

  it.each([403, 404])('record-%i refuses the audit trail of one record, in both audit reports', async (status) => {
    await using caller = await aCaller({ faults: [`record-${status}:20002`] })
    const audit = (id: number) => caller.post(`/v1/EnquiryReport/${id}/Audit`, { since: '2000-01-01' })
    const entries = (entityRecordId: number) =>
      caller.report('audit_entries', { entityId: 1, entityRecordId, since: '2000-01-01' })
    const answers = await Promise.all([audit(20_001), audit(20_002), entries(20_001), entries(20_002)])
    expect(answers.map((answer) => answer.status)).toEqual([200, status, 200, status])
  })

  it('401-once refuses one request', async () => {
    await using caller = await aCaller({ faults: ['401-once'] })
    expect([(await caller.report('events')).status, (await caller.report('events')).status]).toEqual([401, 200])
  })

  it('expire ends each token after a number of requests', async () => {
    await using caller = await aCaller({ faults: ['expire:2'] })
    const statuses: number[] = []
    for (let i = 0; i < 4; i += 1) statuses.push((await caller.report('events')).status)
    expect(statuses).toEqual([200, 200, 401, 401])
    const headers = { Authorization: `Bearer ${await caller.token()}` }
    expect((await caller.post('/v1/EnquiryReport/GetEnquiriesReport', {}, headers)).status).toBe(200)
  })

  it('skew moves the Date header and new stamps; no-date leaves the header out', async () => {
    const clock = new HandClock('2026-03-01T12:00:00Z')
    await using caller = await aCaller({ clock, faults: ['skew:-600'] })
    const { key } = caller.world.insert('enquiries')
    const response = await caller.report('enquiries', {
      modifiedSince: '2026-03-01T11:50:00Z',
      modifiedUntil: '2026-03-01T11:50:01Z',
    })
    expect(response.headers.get('date')).toBe('Sun, 01 Mar 2026 11:50:00 GMT')
    expect(((await response.json()) as Envelope).items[0]).toMatchObject({ enquiryId: key })
    caller.sandbox.setFaults(['no-date'])
    expect((await caller.report('enquiries')).headers.get('date')).toBeNull()
  })

  it('stamps-back stamps an edit in the past, an event by its aggregate stamp alone', async () => {
    await using caller = await aCaller({ clock: new HandClock('2026-03-01T12:00:00Z'), faults: ['stamps-back:3600'] })
    const { world } = caller
    const [event, budget] = (['events', 'budgets'] as const).map((report) => {
      const [key = 0] = world.liveKeys(report)
      world.edit(report, key)
      return world.stampsOf(report, key)
    })
    expect(Math.round(((event?.modified ?? 0) - (event?.aggregate ?? 0)) / 1e7)).toBe(3_600)
    expect(Math.round(((event?.modified ?? 0) - (budget?.modified ?? 0)) / 1e7)).toBe(3_600)
  })

  it('slow waits on the clock', async () => {
    const clock = new HandClock()
    await using caller = await aCaller({ clock, faults: ['slow:1234'] })
    expect((await caller.report('events')).status).toBe(200)
    expect(clock.slept).toEqual([1_234])
  })

  it('huge pads the body and leaves it readable', async () => {
    await using caller = await aCaller({ faults: ['huge:2'] })
    const text = await (await caller.report('enquiries')).text()
    expect(text.length).toBeGreaterThan(2 * 1_024 * 1_024)
    expect((JSON.parse(text) as Envelope).totalCount).toBe(60)
  })
})

describe('a fault on the wire', () => {
  it('truncate cuts the JSON at a consistent length', async () => {
    await using caller = await aCaller({ faults: ['truncate'] })
    const response = await caller.report('events')
    const text = Buffer.from(await response.arrayBuffer())
    expect(Number(response.headers.get('content-length'))).toBe(text.length)
    expect(() => JSON.parse(text.toString()) as unknown).toThrow(SyntaxError)
  })

  it('reset breaks the connection in the middle of the body', async () => {
    await using caller = await aCaller({ faults: ['reset'] })
    await expect(caller.report('events', { pageSize: 1_000 }).then((response) => response.text())).rejects.toThrow()
  })

  it('silent sends headers and no body', async () => {
    await using caller = await aCaller({ faults: ['silent'] })
    const response = await caller.report('events')
    const body = response.text().then(
      () => 'ended',
      () => 'broken',
    )
    await caller.sandbox.close()
    expect([response.status, await body]).toEqual([200, 'broken'])
  })

  it('drip sends byte after byte', async () => {
    await using caller = await aCaller({ faults: ['drip:1'] })
    const response = await caller.report('enquiries')
    const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
    let text = ''
    while (text.length < 5) text += Buffer.from((await reader.read()).value ?? []).toString()
    await reader.cancel()
    expect('{"items":['.startsWith(text.slice(0, 10))).toBe(true)
  })
})

describe('faults', () => {
  it('strike only the report that they name', async () => {
    await using caller = await aCaller({ faults: ['5xx@events'] })
    expect([(await caller.report('events')).status, (await caller.report('budgets')).status]).toEqual([503, 200])
  })

  it('occur as often as requested', async () => {
    await using caller = await aCaller({ faults: ['5xx*2@events', '429*1:3'] })
    const statuses: number[] = []
    for (let i = 0; i < 4; i += 1) statuses.push((await caller.report('events')).status)
    expect(statuses).toEqual([429, 503, 503, 200])
  })

  it('strike the token endpoint only when they say so', async () => {
    await using caller = await aCaller({ faults: ['5xx@token:502', '401-always'] })
    expect((await caller.requestToken({ clientId: 'demo', clientSecret: 'demo-secret' })).status).toBe(502)
    caller.sandbox.setFaults(['429@token:9'])
    expect((await caller.requestToken({})).headers.get('retry-after')).toBe('9')
    caller.sandbox.setFaults(['5xx'])
    expect((await caller.requestToken({ clientId: 'demo', clientSecret: 'demo-secret' })).status).toBe(200)
  })

  it('are listed with one line each, and each of them can be switched on', async () => {
    expect(faultNames).toHaveLength(34)
    for (const { name, does } of faultNames)
      expect([name, does.length > 10 && !does.includes('\n')]).toEqual([name, true])
    await using caller = await aCaller()
    caller.sandbox.setFaults(faultNames.map(({ name }) => name))
  })

  it.each(['meteor', '5xx@nowhere', 'clamp:many', 'html:5', '', 'clamp:5:5x'])(
    'are refused when they would do nothing: %j',
    async (fault) => {
      await expect(startSandbox({ faults: [fault] })).rejects.toMatchObject({
        code: 'USAGE_INVALID',
        cure: expect.any(String) as string,
      })
    },
  )
})
