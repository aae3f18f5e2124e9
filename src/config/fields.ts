/** Building blocks of the configuration schema. */
import { z } from 'zod'
import { formatInstant, type Instant, parseInstant } from '../instant.ts'
import { instantProblem, type Check } from './checks.ts'
import { BYTE_SIZE, parseByteSize } from '../units.ts'

/** Returns a schema for text. Its error is the problem that `check` returns. */
export const checked = (check: Check, meaning: string) =>
  z
    .string()
    .superRefine((text, issues) => {
      const problem = check(text)
      if (problem !== undefined) issues.addIssue({ code: 'custom', message: problem })
    })
    .describe(meaning)

export const whole = () =>
  z.int({ error: ({ code }) => (code === 'invalid_type' ? 'must be a whole number' : undefined) })

export const between = (least: number, most: number) => whole().min(least).max(most)

export const text = (meaning: string) => z.string().min(1).describe(meaning)

const SIZE_WORDS = { error: 'must be a size such as 256MB, 1GiB or 1048576' }

const isPositive = (size: string): boolean => (parseByteSize(size) ?? 0) >= 1

export const byteSize = (meaning: string) =>
  z
    .union(
      [
        whole().min(1),
        z
          .string()
          .regex(BYTE_SIZE, { ...SIZE_WORDS, abort: true })
          .refine(isPositive, 'must be at least 1B'),
      ],
      SIZE_WORDS,
    )
    .transform((size) => (typeof size === 'number' ? size : (parseByteSize(size) ?? 0)))
    .describe(meaning)

/** An integer beyond 2^53 is text, so that no digit is lost. */
export const exactInteger = z
  .custom<number | string>(
    (value) => (typeof value === 'string' ? LONG_INTEGER.test(value) : Number.isSafeInteger(value)),
    'must be a whole number',
  )
  .meta({ type: 'integer' })

const LONG_INTEGER = /^-?\d{16,}$/

export const filterTypes = {
  integer: exactInteger,
  'integer[]': z.array(exactInteger),
  string: z.string().min(1),
  boolean: z.boolean(),
  // A date becomes a date-time, because the service accepts only date-times (spec §4).
  'date-time': checked(instantProblem, 'Date or date-time; no zone means UTC, no time midnight').transform((text) =>
    formatInstant(parseInstant(text) as Instant),
  ),
} as const

export const unique = <T extends z.ZodArray>(list: T, keyOf: (item: z.output<T>[number]) => unknown) =>
  list.superRefine((items, issues) => {
    const keys = items.map(keyOf)
    for (const [index, key] of keys.entries()) {
      if (keys.indexOf(key) < index)
        issues.addIssue({ code: 'custom', message: `${String(key)} is listed twice`, path: [index] })
    }
  })
