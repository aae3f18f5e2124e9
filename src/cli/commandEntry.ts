/** The parts of an entry in the list of commands, and the options that several commands have. */
import { Option } from 'commander'
import type { Action } from './shell.ts'

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  readonly argument?: readonly [syntax: string, description: string]
  readonly options: readonly Option[]
  readonly examples: string
  readonly action: () => Promise<Action<never, never>>
}

export const option = (flags: string, description: string): Option => new Option(flags, description)
export const parsedOption = (flags: string, description: string, parse: (text: string) => unknown): Option =>
  option(flags, description).argParser(parse)

export const CONFIG = option('--config <file>', 'configuration file (default: tidemark.yaml)')
export const JSON_DOCUMENT = option('--json', 'print one JSON document')
export const JSON_AT_END = option('--json', 'print one JSON document at the end')
export const QUIET = option('--quiet', 'print nothing unless something fails')
