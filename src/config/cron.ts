/**
 * Cron lines, checked before anything starts: five fields (minute, hour, day of month, month, day of week), or six with
 * seconds in front. What passes here is understood by the scheduler, so a line can't fail months later in a running
 * worker.
 */

interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly words?: readonly string[]
}

const MONTHS = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ')
const DAYS = 'SUN MON TUE WED THU FRI SAT'.split(' ')

const FIELDS: readonly Field[] = [
  { name: 'second', min: 0, max: 59 },
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: MONTHS },
  { name: 'day of week', min: 0, max: 7, words: DAYS },
]

/** The most days that each month can have: a date that never comes is refused. */
const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Every month has a last day, and one that is the 28th or later. */
const LAST_DAY = 28

/** Looks like a cron line; `cronProblem` says whether it is one. */
export const isCron = (text: string): boolean => /^\S+(?: +\S+){4,5}$/.test(text)

/** What is wrong with the line, in words; undefined when it is well. */
export function cronProblem(line: string): string | undefined {
  const texts = line.split(/ +/)
  const fields = FIELDS.slice(FIELDS.length - texts.length)
  for (const [index, field] of fields.entries()) {
    if (valuesOf(texts[index] ?? '', field) === undefined) {
      const words = field.words === undefined ? '' : ` or ${field.words[0]}-${field.words.at(-1)}`
      return `is no cron line: "${texts[index]}" is no ${field.name} (${field.min}-${field.max}${words})`
    }
    const far = (texts[index] ?? '').split(',').find((part) => stepsTooFar(part, field))
    if (far !== undefined) {
      const instead = `${boundsOf(far.split('/')[0] ?? '', true, field)?.[0]}`
      return `steps further in "${far}" than its ${field.name} goes (${field.min}-${field.max}), so it is "${instead}": write that, or a duration such as 90m`
    }
  }
  return neverComes(texts.slice(-3)) ? 'is a cron line whose day never comes' : undefined
}

/** With a day of the week beside it, either of the two is enough. */
function neverComes([day = '*', month = '*', weekday = '*']: readonly string[]): boolean {
  if (day === '*' || day === '?' || (weekday !== '*' && weekday !== '?')) return false
  const days = valuesOf(day, FIELDS[3] as Field) ?? []
  const months = valuesOf(month, FIELDS[4] as Field) ?? []
  return !months.some((each) => days.some((one) => one <= (LENGTHS[each - 1] ?? 31)))
}

/** Every value that the field names; undefined when a part of it is none. */
function valuesOf(text: string, field: Field): readonly number[] | undefined {
  const parts = text.split(',').map((part) => partOf(part, field))
  return parts.includes(undefined) ? undefined : parts.flatMap((part) => part ?? [])
}

function partOf(text: string, field: Field): readonly number[] | undefined {
  const [, range = '', step] = /^([^/]+)(?:\/([1-9]\d?))?$/.exec(text) ?? []
  const bounds = boundsOf(range, step !== undefined, field)
  if (bounds === undefined || bounds[0] > bounds[1]) return undefined
  const stride = Number(step ?? 1)
  return Array.from(
    { length: Math.floor((bounds[1] - bounds[0]) / stride) + 1 },
    (_, index) => bounds[0] + index * stride,
  )
}

/** Only its first value is ever met: whoever writes every 90 minutes so gets every hour. A step of the whole field is that. */
function stepsTooFar(part: string, { min, max }: Field): boolean {
  const [, step] = part.split('/')
  return step !== undefined && Number(step) > max - min + 1
}

function boundsOf(range: string, hasStep: boolean, field: Field): readonly [number, number] | undefined {
  if (range === '*' || (range === '?' && field.name.startsWith('day'))) return [field.min, field.max]
  const [first, last] = range.split('-', 3).map((word) => numberOf(word, field))
  if (first === undefined || range.split('-').length > 2) return undefined
  if (range.includes('-')) return last === undefined ? undefined : [first, last]
  return [first, hasStep ? field.max : first]
}

function numberOf(word: string, { min, max, words }: Field): number | undefined {
  if (word === 'L' && max === 31) return LAST_DAY
  const named = words?.indexOf(word.toUpperCase()) ?? -1
  if (named >= 0) return named + min
  const value = /^\d{1,2}$/.test(word) ? Number(word) : undefined
  return value === undefined || value < min || value > max ? undefined : value
}
