/** Durations, sizes and cron lines as people write them. */
import { describe, expect, it } from 'vitest'
import { hint, nearest } from '../../src/config/suggest.ts'
import { cronProblem, isCron } from '../../src/config/cron.ts'
import { parseByteSize, parseDuration } from '../../src/units.ts'

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['0s', 0],
  ])('reads %s', (text, ms) => expect(parseDuration(text)).toBe(ms))

  it.each(['', '5', '5 m', '-5m', '5M', '1e3s', 'm', '5m30s', '.5s'])('refuses %j', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  )
})

describe('sizes', () => {
  it.each([
    ['256MB', 256_000_000],
    ['256MiB', 268_435_456],
    ['1.5 GB', 1_500_000_000],
    ['10B', 10],
  ])('reads %s', (text, bytes) => expect(parseByteSize(text)).toBe(bytes))

  it.each(['', '256', '256mb', '-1MB', '80%'])('refuses %j', (text) => expect(parseByteSize(text)).toBeUndefined())
})

describe('cron lines', () => {
  it.each([
    '*/5 * * * *',
    '0 0 1,15 * MON-FRI',
    '30 */5 * * * *',
    '0 0 L * ?',
    '0 6 29 2 *',
    '5/15 8-18 * jan,jul 7',
    '0 0 31 2 MON',
  ])('takes %s', (text) => {
    expect(isCron(text)).toBe(true)
    expect(cronProblem(text)).toBeUndefined()
  })
  it.each(['', '* * * *', '* * * * * * *', '5m', '@daily'])('does not take %j for one', (text) =>
    expect(isCron(text)).toBe(false),
  )
  it.each([
    ['61 * * * *', 'is no cron line: "61" is no minute (0-59)'],
    ['0 24 * * *', 'is no cron line: "24" is no hour (0-23)'],
    ['0 0 * FOO *', 'is no cron line: "FOO" is no month (1-12 or JAN-DEC)'],
    ['0 0 * * 5-2', 'is no cron line: "5-2" is no day of week (0-7 or SUN-SAT)'],
    ['*/0 * * * *', 'is no cron line: "*/0" is no minute (0-59)'],
    ['60 0 0 * * *', 'is no cron line: "60" is no second (0-59)'],
    ['* * * * ;', 'is no cron line: ";" is no day of week (0-7 or SUN-SAT)'],
    ['0 0 30 2 *', 'is a cron line whose day never comes'],
  ])('refuses %s', (text, problem) => expect(cronProblem(text)).toBe(problem))
})

describe('suggestions', () => {
  it('names the nearest word, whatever its case and hyphens', () => {
    expect(nearest('pageSize', ['every', 'page_size', 'overlap'])).toBe('page_size')
    expect(nearest('evnets', ['events', 'enquiries'])).toBe('events')
  })
  it('lists what is known when nothing is near', () => {
    expect(hint('history', ['service', 'queue'])).toBe('; known are service, queue')
  })
})
