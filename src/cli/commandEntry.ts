/** The type of an entry in the list of commands. */
import { InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../units.ts'
import { type Instant, parseInstant } from '../instant.ts'
import type { Action } from './shell.ts'

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  readonly argument?: readonly [syntax: string, description: string]
  readonly options?: readonly Option[]
  /** When the configuration is read. Undefined: before the action. `later`: by the action itself. False: never. */
  readonly isConfigured?: false | 'later'
  readonly examples: string
  readonly action: () => Promise<Action<never, never>>
}

export const option = (flags: string, description: string): Option => new Option(flags, description)
export const parsedOption = (flags: string, description: string, parse: (text: string) => unknown): Option =>
  option(flags, description).argParser(parse)

export const collect = (text: string, before: readonly string[]): readonly string[] => [...before, text]

export const JSON_DOCUMENT = option('--json', 'print one JSON document')
export const JSON_AT_END = option('--json', 'print one JSON document at the end')
export const QUIET = option('--quiet', 'print nothing unless something fails')

export const PORT_PREFERRED = 7_800

function numberParser(form: RegExp, what: string, max = Infinity): (text: string) => number {
  return (text) => {
    if (form.test(text) && Number(text) <= max) return Number(text)
    throw new InvalidArgumentError(`It must be ${what}.`)
  }
}

export const wholeNumber = numberParser(/^\d{1,15}$/, 'a whole number, not less than 0')
export const portNumber = numberParser(/^\d{1,5}$/, 'a whole number from 0 to 65535', 65_535)
export const anyNumber = numberParser(/^\d+(?:\.\d+)?$/, 'a number, not less than 0')

export function parseTime(text: string): Instant {
  const time = parseInstant(text)
  if (time !== undefined) return time
  throw new InvalidArgumentError('It must be a time such as 2024-01-31 or 2024-01-31T12:00:00Z.')
}

export function parseAge(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined) return ms
  throw new InvalidArgumentError('It must be a duration such as 90s, 10m or 6h.')
}
