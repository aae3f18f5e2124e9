/** Requests that are refused (spec §4, §7): property-level errors for every documented parameter of every report. */
import { describe, expect, it } from 'vitest'
import { aCaller, type Body } from './caller.ts'
import { DATES, FLAGS, INTEGERS, LEAST, OTHERS, PATHS, type Report } from './specification.ts'

const reports = Object.keys(PATHS) as Report[]

async function refusedProperties(response: Response): Promise<string[]> {
  expect(response.status).toBe(400)
  return Object.keys(((await response.json()) as { errors: Record<string, string[]> }).errors)
}

describe.each(reports)('%s', (report) => {
  it('refuses each parameter of a wrong type by its name', async () => {
    await using caller = await aCaller()
    const wrong: Body = {
      ...Object.fromEntries(DATES[report].map((name) => [name, 'last Tuesday'])),
      ...Object.fromEntries(INTEGERS[report].map((name) => [name, '7'])),
      ...OTHERS[report],
    }
    expect(await refusedProperties(await caller.report(report, wrong))).toEqual(
      expect.arrayContaining(Object.keys(wrong)),
    )
  })

  it('refuses fractions, dates that do not exist and date-times that are numbers', async () => {
    await using caller = await aCaller()
    const [date, integer] = [DATES[report][0] as string, INTEGERS[report].at(-1) as string]
    expect(await refusedProperties(await caller.report(report, { [date]: '2025-02-30T00:00:00Z' }))).toEqual([date])
    expect(await refusedProperties(await caller.report(report, { [date]: 1_700_000_000 }))).toEqual([date])
    expect(await refusedProperties(await caller.report(report, { [integer]: 1.5 }))).toEqual([integer])
  })

  it('accepts every documented flag, and refuses flags that are no booleans or not documented', async () => {
    await using caller = await aCaller()
    const flags = FLAGS[report].split(' ')
    const all = await caller.report(report, { expand: Object.fromEntries(flags.map((flag) => [flag, true])) })
    const wrong = await caller.report(report, {
      expand: { ...Object.fromEntries(flags.map((flag) => [flag, 'yes'])), moonPhase: true },
    })
    expect(all.status).toBe(200)
    expect((await refusedProperties(wrong)).sort()).toEqual(
      [...flags, 'moonPhase'].map((flag) => `expand.${flag}`).sort(),
    )
  })

  it('has nothing between a lower bound and an earlier upper bound, and takes equal ones', async () => {
    await using caller = await aCaller()
    for (let i = 0; i < DATES[report].length; i += 2) {
      const [since, until] = [DATES[report][i] as string, DATES[report][i + 1] as string]
      const crossed = { [since]: '2025-06-01T00:00:00.0000001Z', [until]: '2025-06-01T00:00:00Z' }
      const nothing = await caller.report(report, crossed)
      expect(nothing.status).toBe(200)
      expect(JSON.stringify(await nothing.json())).toMatch(/^(?:\[\]|\{"items":\[\].*"totalCount":0\})$/)
      const equal = { [since]: '2025-06-01T02:00:00+02:00', [until]: '2025-06-01T00:00:00Z' }
      expect((await caller.report(report, equal)).status).toBe(200)
    }
  })

  it('refuses pages before the first and sizes below one', async () => {
    await using caller = await aCaller()
    for (const name of ['pageNumber', 'pageSize']) {
      expect(await refusedProperties(await caller.report(report, { [name]: 0 }))).toEqual([name])
      expect(await refusedProperties(await caller.report(report, { [name]: -1 }))).toEqual([name])
    }
  })

  it('names every required parameter that is missing, null or empty', async () => {
    await using caller = await aCaller()
    const required = Object.keys(LEAST[report])
    const empty = Object.fromEntries(required.map((name) => [name, null]))
    if (required.length === 0) return
    expect((await refusedProperties(await caller.post(PATHS[report], {}))).sort()).toEqual(required.sort())
    expect((await refusedProperties(await caller.post(PATHS[report], empty))).sort()).toEqual(required.sort())
  })

  it('takes an empty optional filter for all values', async () => {
    await using caller = await aCaller()
    const optional = [...DATES[report], ...INTEGERS[report]].filter((name) => !(name in LEAST[report]))
    const empty = Object.fromEntries(optional.map((name, index) => [name, index % 2 === 0 ? null : '']))
    expect(await caller.rows(report, { ...empty, pageSize: 1_000 })).toEqual(await caller.rows(report))
  })

  it('refuses an unknown parameter and names it, unless parameters are not strict', async () => {
    await using strict = await aCaller()
    await using lenient = await aCaller({ strictParameters: false })
    expect(await refusedProperties(await strict.report(report, { colour: 'blue' }))).toEqual(['colour'])
    expect((await lenient.report(report, { colour: 'blue', expand: { colour: true } })).status).toBe(200)
    expect(strict.sandbox.requests.list().at(-1)?.problems).toEqual([expect.stringContaining('colour')])
    expect(lenient.sandbox.requests.list().at(-1)?.problems).toHaveLength(2)
  })

  it('refuses a body that is missing, no JSON or no object, and other methods', async () => {
    await using caller = await aCaller()
    for (const body of ['', '{"modifiedSince":', '[]', 'null', '7']) {
      expect((await caller.post(PATHS[report], body)).status).toBe(400)
    }
    const got = await fetch(`${caller.sandbox.url}/reportingapi${PATHS[report]}`)
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
  })
})

describe('the service', () => {
  it('answers 404 on a path that the specification does not have', async () => {
    await using caller = await aCaller()
    const paths = [
      '/v1/EventReport/GetEvents',
      '/v2/EventReport/GetEventsReport',
      '/v1/EnquiryReport/{enquiryId}/Audit/x',
      '/',
    ]
    const statuses = await Promise.all(paths.map(async (path) => (await caller.post(path, {})).status))
    expect(statuses).toEqual([404, 404, 404, 404])
  })

  it.each(['targetCurrencyCode', 'currencyCode'])('refuses a currency that does not exist in %s', async (name) => {
    await using caller = await aCaller()
    const report = name === 'currencyCode' ? 'automated_bookings' : 'budgets'
    expect(await refusedProperties(await caller.report(report, { [name]: 'XYZ' }))).toEqual([name])
  })
})

it('integers have 64 bits: one beyond 2^53 is compared digit by digit, one beyond 2^63 is refused', async () => {
  await using caller = await aCaller({ rows: 20 })
  const [key = 0, other = 0] = caller.world.keys('enquiries')
  caller.world.putRow('enquiries', key, { companyId: '9007199254740993', status: '9007199254740993' })
  caller.world.putRow('enquiries', other, { companyId: '9007199254740992' })
  const ask = (filter: string) => caller.post(PATHS.enquiries, `{${filter}}`)
  for (const filter of ['"companyId":9007199254740993', '"status":[9007199254740993]']) {
    const answer = (await (await ask(filter)).json()) as { items: { enquiryId: number }[] }
    expect(answer.items.map(({ enquiryId }) => enquiryId)).toEqual([key])
  }
  expect(await refusedProperties(await ask('"companyId":9223372036854775808'))).toEqual(['companyId'])
  const trail = await caller.post('/v1/EnquiryReport/9007199254740993/Audit', '{"since":"2020-01-01T00:00:00Z"}')
  expect(await trail.json()).toMatchObject({ items: [], totalCount: 0 })
})
