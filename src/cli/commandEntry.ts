/** The type of an entry in the list of commands. */
import { InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../units.ts'
import { parseInstant } from '../instant.ts'
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

export const repeatedOption = (flags: string, description: string): Option =>
  option(flags, `${description}; may be given again`)
    .argParser((text: string, before: readonly string[]) => [...before, text])
    .default([])

export const JSON_DOCUMENT = option('--json', 'print one JSON document')
export const JSON_AT_END = option('--json', 'print one JSON document at the end')
export const QUIET = option('--quiet', 'print nothing unless something fails')

export const PORT_PREFERRED = 7_800

function parser<T>(parse: (text: string) => T | undefined, what: string): (text: string) => T {
  return (text) => {
    const value = parse(text)
    if (value !== undefined) return value
    throw new InvalidArgumentError(`It must be ${what}.`)
  }
}

const numberParser = (form: RegExp, what: string, max = Infinity) =>
  parser((text) => (form.test(text) && Number(text) <= max ? Number(text) : undefined), what)

export const wholeNumber = numberParser(/^\d{1,15}$/, 'a whole number, not less than 0')
export const portNumber = numberParser(/^\d{1,5}$/, 'a whole number from 0 to 65535', 65_535)
export const anyNumber = numberParser(/^\d+(?:\.\d+)?$/, 'a number, not less than 0')

export const parseTime = parser(parseInstant, 'a time such as 2024-01-31 or 2024-01-31T12:00:00Z')
export const parseAge = parser(parseDuration, 'a duration such as 90s, 10m or 6h')
