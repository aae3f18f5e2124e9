/** Parses numbers and times of the command line. Each error names the expected form. */
import { InvalidArgumentError } from 'commander'
import { type Instant, parseInstant } from '../instant.ts'

/** The sandbox's port unless another program uses it. With a fixed port, the sandbox's address stays the same. */
export const PORT_PREFERRED = 7_800

export function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number, not less than 0.')
}

const PORT_MAX = 65_535

export function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= PORT_MAX) return Number(text)
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${PORT_MAX}.`)
}

export function anyNumber(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number, not less than 0.')
}

export function parseTime(text: string): Instant {
  const time = parseInstant(text)
  if (time !== undefined) return time
  throw new InvalidArgumentError('It must be a time such as 2024-01-31 or 2024-01-31T12:00:00Z.')
}
