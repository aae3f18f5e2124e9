/** The statements of docs/tasks/analyst-questions.md, compared with answers computed from the service's own rows. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { documents } from '../rules/markdown.ts'
import { aTide, type Tide } from '../support/tide.ts'

type Row = Record<string, unknown>
interface Room {
  readonly price: number
  readonly currency: string
  readonly capacity: number
}

const statements = documents()
  .filter(({ name }) => name.endsWith('analyst-questions.md'))
  .flatMap(({ blocks }) => blocks)
  .filter(({ kind }) => kind === 'sql question')
  .map(({ text }) => text)

const monthOf = (row: Row): string => String(row['startDate']).slice(0, 7)
const roomsOf = (event: Row) => event['meetingRooms'] as Room[]
const sum = (amounts: readonly number[]) => amounts.reduce((total, each) => total + each, 0)
const cents = (amount: unknown): number => Math.round(Number(amount) * 100)

function addTo(sums: Map<string, number>, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount)
}

describe('the five questions of an analyst', () => {
  let tide: Tide
  const ask = (number: number) => tide.warehouse.rows<Row>(statements[number] ?? 'missing')
  const served = (report: 'events' | 'budgets'): Row[] =>
    tide.sandbox.world.liveKeys(report).map((key) => tide.sandbox.world.row(report, key) as Row)

  beforeAll(async () => {
    const audited = { entities: [{ entity_id: 3, follows: 'events' }] }
    tide = await aTide({
      sandbox: { rows: 150, amounts: 'cents' },
      settings: { currencies: ['EUR', 'GBP'], reports: { events: { history: true }, audit_entries: audited } },
    })
    await tide.sync('events', 'budgets')
    tide.clock.pass(60_000)
    tide.sandbox.world.edit('events', 100_001)
    tide.clock.pass(60_000)
    await tide.sync('events', 'audit_entries')
  })
  afterAll(() => tide[Symbol.asyncDispose]())

  it('adds up the revenue of each month in each currency', async () => {
    const expected = new Map<string, number>()
    for (const event of served('events').filter(({ status }) => status !== 'Cancelled' && status !== 'Draft')) {
      for (const { currency, price } of roomsOf(event)) addTo(expected, `${monthOf(event)} ${currency}`, cents(price))
    }
    const answer = await ask(0)
    const found = answer.map((row) => [
      `${(row['month'] as Date).toISOString().slice(0, 7)} ${String(row['currency'])}`,
      cents(row['revenue']),
    ])
    expect(expected.size).toBeGreaterThan(10)
    expect(new Map(found as [string, number][])).toEqual(expected)
  })

  it('counts each cancelled event, and adds up the fees of those with a record', async () => {
    const cancelled = served('events').filter(({ status }) => status === 'Cancelled')
    const fees = cancelled.map((event) => event['cancellationRecord'] as { fee?: { amount: number } } | null)
    const answer = await ask(1)
    expect(sum(answer.map((row) => Number(row['cancelled'])))).toBe(cancelled.length)
    expect(sum(answer.map((row) => cents(row['fees'])))).toBe(
      sum(fees.map((record) => cents(record?.fee?.amount ?? 0))),
    )
    expect(sum(fees.map((record) => cents(record?.fee?.amount ?? 0)))).toBeGreaterThan(0)
  })

  it('counts the attendees of an event once, however many rooms it has', async () => {
    const used = served('events').filter(
      (event) => event['status'] === 'Completed' && event['inPersonAttendees'] !== null && roomsOf(event).length > 0,
    )
    const expected = new Map<string, number>()
    for (const event of used)
      addTo(expected, (event['town'] as string | null) ?? 'unknown', Number(event['inPersonAttendees']))
    expect(used.some((event) => roomsOf(event).length > 1)).toBe(true)
    const answer = await ask(2)
    expect(new Map(answer.map((row) => [String(row['town']), Number(row['attendees'])]))).toEqual(expected)
  })

  it('compares each budget in its own currency with its cost items', async () => {
    const own = served('budgets').filter(
      (row) => row['originalCurrency'] === 'EUR' && (row['costItems'] as object[]).length > 0,
    )
    const expected = own.map((row) => {
      const items = row['costItems'] as { quantity: number; price: number }[]
      const actual = items.reduce((total, { quantity, price }) => total + quantity * cents(price), 0)
      return [row['budgetId'], actual - cents(row['totalAmount'])]
    })
    const answer = await ask(3)
    expect(expected.length).toBeGreaterThan(3)
    expect(new Map(answer.map((row) => [Number(row['budget_id']), cents(row['over'])]))).toEqual(
      new Map(expected as [number, number][]),
    )
  })

  it('lists the versions of one event, and who changed it', async () => {
    const versions = await ask(4)
    expect(versions.map((row) => row['seen_to'] === null)).toEqual([false, true])
    const trail = await ask(5)
    expect(trail).toHaveLength(tide.sandbox.world.auditEntries(3, 100_001).length)
  })
})
