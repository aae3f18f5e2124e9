/** Lists which values each column type accepts. */
import type { DuckType } from './tables.ts'

type Example = `${string} → ${string}`

export interface ValueRule {
  /** The end of a sentence that begins "the value is". Example: `no 64-bit integer`. */
  readonly misfit: string
  readonly takes: string
  /** Each example is a JSON value, an arrow, and the value as DuckDB prints it in UTC. */
  readonly examples: readonly Example[]
  readonly misfits: readonly string[]
}

export type ColumnType = Exclude<DuckType, 'INTEGER' | 'UBIGINT'>

export const VALUES: Readonly<Record<ColumnType, ValueRule>> = {
  BIGINT: {
    misfit: 'no 64-bit integer',
    takes: 'whole numbers of 64 bits, also with a fraction of zeros, with an exponent, and as text',
    examples: [
      '7 → 7',
      '7.0 → 7',
      '1E1 → 10',
      '1.50e1 → 15',
      '" 42 " → 42',
      '"-9223372036854775808" → -9223372036854775808',
    ],
    misfits: ['1.5', '"1e-1"', '9223372036854775808', 'true', '"n/a"', '[1]'],
  },
  'DECIMAL(38,9)': {
    misfit: 'no decimal that fits',
    takes:
      'numbers with up to 29 digits before the point, also as text; more than nine digits after it are rounded, and the exact number is in `_extra` or `_payload`',
    examples: [
      '12345678901234.123456789 → 12345678901234.123456789',
      '"0.10" → 0.100000000',
      '1.5e3 → 1500.000000000',
      '" -2.5E-3 " → -0.002500000',
      '0.12345678949 → 0.123456789',
    ],
    misfits: ['123456789012345678901234567890', '1e400', 'true', '"1,5"', '{"amount":1}'],
  },
  DOUBLE: {
    misfit: 'no number',
    takes: 'numbers, also as text; of more than 15 digits the exact number is in `_extra` or `_payload`',
    examples: ['1.5e-12 → 1.5e-12', '"2" → 2.0'],
    misfits: ['1e400', '"NaN"', 'true', '"n/a"'],
  },
  BOOLEAN: {
    misfit: 'neither true nor false',
    takes: '`true`, `false`, 0 and 1, also as text',
    examples: ['true → true', '0 → false', '1 → true', '"true" → true', '"false" → false'],
    misfits: ['2', '"yes"', '"TRUE"', '[true]'],
  },
  TIMESTAMPTZ: {
    misfit: 'no date-time',
    takes:
      'ISO 8601 date-times, extended or basic, with or without seconds and fraction. No offset means UTC. The seventh digit of a fraction is cut. A leap second becomes the next second. A date is its midnight in UTC',
    examples: [
      '"2026-03-01T12:00:00Z" → 2026-03-01 12:00:00+00',
      '"2026-03-01T12:00:00.1234567+02:00" → 2026-03-01 10:00:00.123456+00',
      '"2026-03-01T12:00:00+0200" → 2026-03-01 10:00:00+00',
      '"2026-03-01t12:00z" → 2026-03-01 12:00:00+00',
      '"20260301T120000Z" → 2026-03-01 12:00:00+00',
      '"20260301T1200-0130" → 2026-03-01 13:30:00+00',
      '"2016-12-31T23:59:60Z" → 2017-01-01 00:00:00+00',
      '" 2026-03-01 12:00:00,5 " → 2026-03-01 12:00:00.5+00',
      '"2026-03-01" → 2026-03-01 00:00:00+00',
    ],
    misfits: ['"2026-02-30T10:00:00Z"', '"20260301"', '"01.03.2026"', '1772359200', 'true', '"soon"'],
  },
  DATE: {
    misfit: 'no date',
    takes: 'ISO 8601 dates in the extended format',
    examples: ['"2026-03-01" → 2026-03-01'],
    misfits: ['"2026-02-30"', '"2026-03-01T12:00:00Z"', '20260301'],
  },
  VARCHAR: {
    misfit: 'no text',
    takes: 'every text, number and boolean',
    examples: ['"é" → é', '1.5 → 1.5', 'true → true', '"" → '],
    misfits: ['{"de":"x"}', '["x"]'],
  },
  JSON: { misfit: 'no JSON', takes: 'everything, as sent', examples: ['{"a":1.10} → {"a":1.10}'], misfits: [] },
}

export const chosenTypes = (Object.keys(VALUES) as ColumnType[]).filter((type) => type !== 'JSON')

export const partsOf = (example: Example): [sent: string, stored: string] =>
  example.split(' → ') as [sent: string, stored: string]
