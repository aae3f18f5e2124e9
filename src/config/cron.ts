/** Checks cron lines with the scheduler's parser, so that a running worker never encounters an invalid line. */
import { CronExpressionParser } from 'cron-parser'
import { attempt } from '../errors.ts'

interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
  /** The words that this field may contain. The parser alone would read the month MON as January. */
  readonly words?: RegExp
  readonly range?: string
}

const MONTHS = /JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC/gi
const DAYS = /SUN|MON|TUE|WED|THU|FRI|SAT|L/gi

const FIELDS: readonly Field[] = [
  { name: 'second', min: 0, max: 59 },
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31, words: /L/g },
  { name: 'month', min: 1, max: 12, words: MONTHS, range: 'JAN-DEC' },
  { name: 'day of week', min: 0, max: 7, words: DAYS, range: 'SUN-SAT' },
]

/** Returns whether the text has as many fields as a cron line. */
export const isCron = (text: string): boolean => /^\S+(?: +\S+){4,5}$/.test(text)

export function cronProblem(line: string): string | undefined {
  const texts = line.split(/ +/)
  for (const [index, field] of FIELDS.slice(-texts.length).entries()) {
    const problem = fieldProblem(texts[index] ?? '', field)
    if (problem !== undefined) return problem
  }
  return hasNext(line) ? undefined : 'is a cron line whose day never comes'
}

function fieldProblem(text: string, field: Field): string | undefined {
  const bounds = `${field.min}-${field.max}`
  const hasForeignWords = /[a-z]/i.test(field.words === undefined ? text : text.replaceAll(field.words, ''))
  if (hasForeignWords || !hasNext(FIELDS.map((each) => (each === field ? text : '*')).join(' ')))
    return `is no cron line: "${text}" is no ${field.name} (${bounds}${field.range === undefined ? '' : ` or ${field.range}`})`
  // The parser accepts `*/90` for minutes, but such a line runs only at minute 0.
  const part = text.split(',').find((each) => Number(each.split('/')[1] ?? 1) > field.max - field.min + 1)
  return part && `cannot step further than its ${field.name} (${bounds}) in "${part}": write a duration such as 90m`
}

/** Returns false if a line never runs, such as a line for 30 February. */
const hasNext = (line: string): boolean =>
  attempt(() => CronExpressionParser.parse(line, { currentDate: 0, tz: 'UTC' }).next() !== undefined, false)
