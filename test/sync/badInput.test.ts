/**
 * Bad input gets a clear error and loses nothing: what the service, or a proxy before it, may answer instead of a page,
 * and what may stand in a row. Each story ends with the cause mended and the warehouse equal to the service.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../src/errors.ts'
import { markOf } from '../support/held.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { differencesOf, failureOf } from './stories.ts'

interface Trouble {
  readonly fault: string
  readonly code: ErrorCode
  readonly says: RegExp
  readonly advises: RegExp
}

const ANSWERS: readonly (readonly [string, Trouble])[] = [
  ['HTML', { fault: 'html', code: 'ANSWER_NOT_JSON', says: /web page/, advises: /base_url/ }],
  ['an empty body', { fault: 'empty-body', code: 'ANSWER_MALFORMED', says: /empty body/, advises: /Try again/ }],
  ['truncated JSON', { fault: 'truncate', code: 'ANSWER_MALFORMED', says: /was cut.*byte \d+/, advises: /proxy/ }],
  [
    'a redirect to another host',
    {
      fault: 'redirect:http://elsewhere.example/reportingapi',
      code: 'REDIRECTED',
      says: /elsewhere\.example.*never followed/,
      advises: /base_url/,
    },
  ],
  ['errors alone', { fault: '5xx', code: 'SERVICE_UNAVAILABLE', says: /503/, advises: /later/ }],
  [
    'half a body on a broken connection',
    { fault: 'reset', code: 'SERVICE_UNREACHABLE', says: /ECONNRESET/, advises: /\w/ },
  ],
]

describe('a service that answers', () => {
  let tide: Tide
  beforeAll(async () => {
    tide = await aTide({ sandbox: { rows: 12 } })
    await tide.sync('events', 'enquiries')
  })
  afterAll(() => tide[Symbol.asyncDispose]())

  it.each(ANSWERS)(
    '%s fails that report alone, keeps its mark, and is caught up with afterwards',
    { tags: 'long' },
    async (_, trouble) => {
      const before = { events: await markOf(tide, 'events'), enquiries: await markOf(tide, 'enquiries') }
      const { world } = tide.sandbox
      for (const report of ['events', 'enquiries'] as const) world.edit(report, world.liveKeys(report)[0] as number)
      tide.sandbox.setFaults([trouble.fault.replace(/(:|$)/, '@events$1')])
      const outcomes = await tide.attempt('events', 'enquiries')
      const failed = failureOf(outcomes, 'events')
      expect(failed.code).toBe(trouble.code)
      expect(failed.message).toMatch(trouble.says)
      expect(failed.cure).toMatch(trouble.advises)
      expect(outcomes.find(({ report }) => report === 'enquiries')?.state).toBe('done')
      expect(await markOf(tide, 'events')).toBe(before.events)
      expect(await markOf(tide, 'enquiries')).toBeGreaterThanOrEqual(before.enquiries ?? Infinity)
      expect(await differencesOf(tide, 'enquiries')).toEqual([])
      tide.sandbox.setFaults([])
      await tide.sync('events')
      expect(await differencesOf(tide, 'events')).toEqual([])
    },
  )
})

/** One event of the world, damaged; whatever is damaged stays within that row. */
interface Damage {
  readonly fields: Readonly<Record<string, string>>
  readonly reason: RegExp
  readonly whole: RegExp
}

const REFUSED: readonly (readonly [string, Damage])[] = [
  ['no key', { fields: { eventId: '' }, reason: /no key: eventId/, whole: /"name":/ }],
  ['null for a key', { fields: { eventId: 'null' }, reason: /no key: eventId/, whole: /"eventId":null/ }],
  [
    'text for a key',
    { fields: { eventId: '"many"' }, reason: /eventId is no 64-bit integer: many/, whole: /"eventId":"many"/ },
  ],
  [
    'a key twice in one object',
    { fields: { town: '"first","town":"second"' }, reason: /town is there twice/, whole: /"first","town":"second"/ },
  ],
]

/** The damaged event is left out of the differences. */
async function differencesBut(tide: Tide, key: number): Promise<string[]> {
  const keys = new Set(tide.sandbox.world.keys('events').map(String))
  return (await differencesOf(tide, 'events')).filter((each) => {
    const [, named = ''] = /the row (\S*) /.exec(each) ?? []
    // A row that was sent without a sound key is missing under the key that it was sent with.
    return named !== String(key) && (keys.has(named) || !each.endsWith('is missing'))
  })
}

interface Rejected {
  readonly reason: string
  readonly row: string
}

/**
 * Those of before may have left: a row that was mended in the second in which it was refused is struck off a load
 * later.
 */
async function rejectedSince(tide: Tide, before: readonly Rejected[]): Promise<Rejected[]> {
  return (await rejected(tide)).filter(({ row }) => before.every((each) => each.row !== row))
}

async function rejected(tide: Tide): Promise<Rejected[]> {
  return tide.warehouse.rows(
    `SELECT reason, row::VARCHAR AS row FROM tidemark.rejected_rows WHERE report = 'events' ORDER BY load_id`,
  )
}

describe('a row with', () => {
  let tide: Tide
  beforeAll(async () => {
    tide = await aTide({ sandbox: { rows: 12 } })
    await tide.sync('events')
  })
  afterAll(() => tide[Symbol.asyncDispose]())

  it.each(REFUSED)('%s is set aside whole with its reason; the others land', async (_, { fields, reason, whole }) => {
    const { world } = tide.sandbox
    const [key, other] = world.liveKeys('events') as [number, number]
    const sound = Object.fromEntries(
      Object.keys(fields).map((field) => [field, JSON.stringify(world.row('events', key)?.[field] ?? null)]),
    )
    const before = await rejected(tide)
    for (const each of [key, other]) world.edit('events', each)
    world.putRow('events', key, fields)
    const [outcome] = await tide.sync('events')
    expect(outcome?.figures.rejected).toBe(1)
    const aside = [{ reason: expect.stringMatching(reason) as string, row: expect.stringMatching(whole) as string }]
    expect(await rejectedSince(tide, before)).toEqual(aside)
    expect(await differencesBut(tide, key)).toEqual([])
    world.edit('events', other)
    await tide.sync('events')
    expect(await rejectedSince(tide, before), 'reading it again repeats nothing').toEqual(aside)
    world.putRow('events', key, sound)
    await tide.sync('events')
    expect(await differencesOf(tide, 'events')).toEqual([])
  })

  it.each([
    ['text', '"many"'],
    ['a number beyond 64 bits', '18446744073709551617'],
  ])(
    '%s in an integer field lands without that value, which is listed until it fits',
    { tags: 'long' },
    async (_, value) => {
      const { world } = tide.sandbox
      const [key] = world.liveKeys('events') as [number]
      const sound = JSON.stringify(world.row('events', key)?.['attendees'] ?? null)
      const misfits = () =>
        tide.warehouse.rows(`SELECT "table", "column", key, value::VARCHAR AS value, reason FROM tidemark.misfits`)
      world.edit('events', key)
      world.putRow('events', key, { attendees: value })
      const [outcome] = await tide.sync('events')
      expect(outcome?.figures).toMatchObject({ misfits: 1, rejected: 0 })
      expect(await misfits()).toEqual([
        { table: 'events', column: 'attendees', key: String(key), value, reason: 'no 64-bit integer' },
      ])
      const [row] = await tide.warehouse.rows(
        `SELECT attendees, json_extract(_extra, '$.attendees')::VARCHAR AS sent FROM events WHERE event_id = ${key}`,
      )
      expect(row).toEqual({ attendees: null, sent: value })
      expect(await differencesBut(tide, key)).toEqual([])
      world.edit('events', key)
      world.putRow('events', key, { attendees: sound })
      await tide.sync('events')
      expect([await misfits(), await differencesOf(tide, 'events')]).toEqual([[], []])
    },
  )

  it('a number beyond 64 bits in an undocumented field keeps every digit', { tags: 'long' }, async () => {
    const before = await rejected(tide)
    const [key] = tide.sandbox.world.liveKeys('events') as [number]
    tide.sandbox.world.putRow('events', key, {
      surprise: '123456789012345678901234567890.123456789',
      vast: '18446744073709551617',
    })
    await tide.sync('events')
    expect(await rejectedSince(tide, before)).toEqual([])
    expect(await differencesOf(tide, 'events')).toEqual([])
  })

  it('a NUL in a string, or half a surrogate pair, costs neither the page nor the rest of the text', {
    tags: 'long',
  }, async () => {
    const before = await rejected(tide)
    const { world } = tide.sandbox
    const [nul, half] = world.liveKeys('events') as [number, number]
    world.putRow('events', nul, { town: '"before \\u0000 after"' })
    world.putRow('events', half, { town: '"before \\ud800 after"' })
    await tide.sync('events')
    const rows = await tide.warehouse.rows<{ id: number; town: string | null; around: boolean }>(
      `SELECT event_id AS id, town, starts_with(town, 'before ') AND ends_with(town, ' after') AS around
       FROM events WHERE event_id IN (${nul}, ${half}) ORDER BY 1`,
    )
    const aside = await rejectedSince(tide, before)
    expect(rows).toHaveLength(2)
    expect(rows.filter(({ around }) => around).length + aside.length, 'held as it came, or set aside').toBe(2)
    for (const { row } of aside) expect(row).toMatch(/before .* after/)
    const found = await differencesOf(tide, 'events')
    expect(found.filter((each) => !each.includes(`the row ${nul} `) && !each.includes(`the row ${half} `))).toEqual([])
    for (const key of [nul, half]) world.putRow('events', key, { town: '"Köln"' })
    await tide.sync('events')
    expect(await differencesOf(tide, 'events')).toEqual([])
  })
})

describe('a key that comes twice on a page', () => {
  it('as the same row is one row', { tags: 'long' }, async () => {
    await using tide = await aTide({
      sandbox: { rows: 60, faults: ['duplicate-row'] },
      settings: { defaults: { page_size: 25 } },
    })
    await tide.sync('events', 'enquiries', 'budgets')
    expect(await differencesOf(tide, 'events', 'enquiries', 'budgets')).toEqual([])
    tide.sandbox.setFaults([])
    await tide.sync('events', 'enquiries', 'budgets')
    expect(await differencesOf(tide, 'events', 'enquiries', 'budgets')).toEqual([])
  })

  it('as two versions is the newer one', { tags: 'long' }, async () => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    const { world } = tide.sandbox
    const [newer, twin] = world.liveKeys('events') as [number, number]
    world.putRow('events', twin, { eventId: String(newer), name: '"older"' })
    await tide.sync('events')
    world.putRow('events', newer, { name: '"newer"' })
    await tide.sync('events')
    const held = () => tide.warehouse.rows(`SELECT name FROM events WHERE event_id = ${newer}`)
    expect(await held()).toEqual([{ name: 'newer' }])
    world.putRow('events', twin, { eventId: String(twin) })
    await tide.sync('events')
    expect(await held()).toEqual([{ name: 'newer' }])
    expect(await differencesOf(tide, 'events')).toEqual([])
  })
})

describe('many malformed rows of every kind', () => {
  it('leave the sound rows exact, are counted, and land once the service is mended', { tags: 'long' }, async () => {
    await using tide = await aTide({ sandbox: { rows: 63, faults: ['bad-rows:7'] } })
    const outcomes = await tide.sync('events', 'enquiries', 'merf_submissions')
    for (const { report, figures } of outcomes) expect(figures.rejected, report).toBeGreaterThan(0)
    for (const report of ['events', 'enquiries', 'merf_submissions'] as const) {
      const { world } = tide.sandbox
      const first = Math.min(...world.keys(report))
      const sound = (await differencesOf(tide, report)).filter(
        (each) => (Number(/the row (\d+)/.exec(each)?.[1]) - first) % 7 !== 0,
      )
      expect(sound).toEqual([])
    }
    tide.sandbox.setFaults([])
    for (const report of ['events', 'enquiries', 'merf_submissions'] as const) {
      for (const key of tide.sandbox.world.keys(report)) tide.sandbox.world.edit(report, key)
    }
    await tide.sync('events', 'enquiries', 'merf_submissions')
    expect(await differencesOf(tide, 'events', 'enquiries', 'merf_submissions')).toEqual([])
  })
})

it('a run ends the listing of rejected rows that the service has not sent for a time', async () => {
  await using tide = await aTide({ sandbox: { rows: 4 }, settings: { rejected_keep: '30d' } })
  const { world } = tide.sandbox
  world.putRow('events', world.liveKeys('events')[0] as number, { eventId: '"x"' })
  await tide.sync('events')
  const listed = () => tide.warehouse.rows('SELECT dismissed_at IS NULL AS listed FROM tidemark.rejected_rows')
  expect(await listed()).toEqual([{ listed: true }])
  tide.clock.pass(31 * 86_400_000)
  await tide.sync('merf_submissions')
  expect(await listed()).toEqual([{ listed: false }])
})
