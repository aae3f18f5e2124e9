/** Numbers on the command line: refused with a sentence that says what was expected, and one that help names. */
import { InvalidArgumentError } from 'commander'

/** The sandbox's port when it is free, so that a configuration can name it. */
export const PORT_PREFERRED = 7_800

export function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number, not less than 0.')
}

export function anyNumber(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number, not less than 0.')
}
