/** A service that ignores the bounds of a request, and returns all rows for every window (docs/PROOFS.md, appendix A). */
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { formatInstant, type Instant, MINUTE_MS, minusMs } from '../../src/instant.ts'
import { type Asked, aTideAnsweredBy } from './answering.ts'
import { failureOf } from './stories.ts'

const PATHS = { events: /GetEventsReport$/, enquiries: /GetEnquiriesReport$/ } as const

const minutesBack = (n: number): Instant => minusMs(systemClock.now(), (n + 60) * MINUTE_MS)

function rowsOf(report: keyof typeof PATHS, rows: number): string[] {
  return Array.from({ length: rows }, (_, n) => {
    const at = formatInstant(minutesBack(n))
    return report === 'enquiries'
      ? `{"enquiryId":${n + 1}}`
      : `{"eventId":${n + 1},"recordModified":"${at}","aggregateRecordModified":"${at}","isDeleted":false}`
  })
}

/** Returns pages of all rows, without regard to the bounds. `far` is the answer to a request for the year 2199. */
const allRows =
  (report: keyof typeof PATHS, rows: readonly string[], far?: string | number) =>
  ({ body }: Asked): string | number => {
    const [number, size] = [Number(body['pageNumber']), Number(body['pageSize'])]
    if (far !== undefined && JSON.stringify(body).includes('"2199-')) return far
    const page = `[${rows.slice((number - 1) * size, number * size).join(',')}]`
    return report === 'events'
      ? page
      : `{"items":${page},"pageNumber":${number},"pageSize":${size},"totalCount":${rows.length}}`
  }

it.each([
  ['events', 15],
  ['enquiries', 300],
] as const)('ends early in BOUNDS_IGNORED, and the parameter is named: %s, %i rows', async (report, count) => {
  const settings = { defaults: { page_size: 20 } }
  await using tide = await aTideAnsweredBy(allRows(report, rowsOf(report, count)), settings)
  // The first run of enquiries reads without bounds and succeeds; the tick after it asks for a window.
  const outcomes = [...(await tide.attempt(report)), ...(await tide.attempt(report))]
  const failed = outcomes.filter(({ error }) => error !== undefined)
  expect(failureOf(failed, report)).toMatchObject({
    code: 'BOUNDS_IGNORED',
    message: expect.stringMatching(/ignores (modified|created)Since/) as string,
  })
  expect(tide.asked.length).toBeLessThan(600)
})

it('a large report of a service that obeys, or refuses the year 2199, is read past the test', async () => {
  for (const far of ['[]', 400]) {
    const rows = rowsOf('events', 2_500)
    await using tide = await aTideAnsweredBy(
      (asked) => {
        const isOld = String(asked.body['modifiedSince']).startsWith('2000-')
        return isOld || far === 400 ? allRows('events', isOld ? rows : [], far)(asked) : '[]'
      },
      { defaults: { page_size: 10 } },
    )
    await tide.sync('events')
    expect(await tide.warehouse.rows('SELECT count(*) AS n FROM events')).toEqual([{ n: 2_500 }])
    expect(tide.asked.filter(({ sent }) => sent.includes('2199-'))).toHaveLength(1)
  }
})
