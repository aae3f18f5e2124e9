/** The sandbox's options with their defaults. */
import { z } from 'zod'
import { systemClock, type Clock } from '../clock.ts'
import { usageError } from '../errors.ts'
import { AMOUNTS } from './dice.ts'
import { type Faults, parseFault } from './faults.ts'
import { SCOPES, type ReportName } from './reports/index.ts'
import type { DeclaredReport } from './reports/declared.ts'
import type { RequestLog } from './requestLog.ts'
import { TIME_STYLES } from './ticks.ts'
import type { World } from './world.ts'

export { faultNames, parseFault } from './faults.ts'

/** A client that may request a token. It receives status 403 for each report in `forbidden`. */
export interface SandboxClient {
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly forbidden?: readonly ReportName[]
  readonly disabled?: boolean
}

export const EVENT_SHAPES = ['full', 'summary', 'mixed'] as const
/** With `mixed`, about half of the events have the summary shape (spec §2). */
export type EventShape = (typeof EVENT_SHAPES)[number]

export const COMPRESSIONS = ['none', 'gzip', 'br'] as const
export type Compression = (typeof COMPRESSIONS)[number]

export const DEMO_CLIENT: SandboxClient = { clientId: 'demo', clientSecret: 'demo-secret', scopes: SCOPES }

const WHOLE = 'Give a whole number.'
const SOME = 'Give a number of 0 or more.'
const oneOf = <const T extends readonly string[]>(values: T) => z.enum(values, `Give one of: ${values.join(', ')}.`)
const atLeast = (least: number) => {
  const cure = `Give a whole number of ${least} or more.`
  return z.int(cure).min(least, cure)
}

const Options = z.object({
  /** The number of rows of each report. Enquiries and bookings have half as many. */
  rows: atLeast(1).default(500),
  seed: z.int(WHOLE).default(1),
  port: atLeast(0).default(0),
  changesPerSecond: z.number(SOME).min(0, SOME).default(0),
  /** @internal */
  clock: z.custom<Clock>().default(() => systemClock),
  eventShape: oneOf(EVENT_SHAPES).default('full'),
  pageSizeMax: atLeast(1).default(1_000),
  pageSizeDefault: atLeast(1).default(100),
  tokenLifetimeSeconds: atLeast(1).default(3_600),
  tokenRequestsPerMinute: atLeast(1).default(30),
  clients: z.custom<readonly SandboxClient[]>().default(() => [DEMO_CLIENT]),
  /** Each fault has the form `name[*count][@report][:argument]`. Example: `5xx*3@events`. */
  faults: z.custom<readonly string[]>().default([]),
  compress: oneOf(COMPRESSIONS).default('none'),
  /** The number of items in each array. By default, a random number from 0 to 5. */
  itemsPerCollection: atLeast(0).optional(),
  collections: z.boolean().default(true),
  timeStyle: oneOf(TIME_STYLES).optional(),
  /** `cents`: realistic prices. `long`: up to nine decimals. */
  amounts: oneOf(AMOUNTS).default('long'),
  /** Declarations of your own reports. The sandbox serves generated rows for these reports too. */
  declared: z.custom<readonly DeclaredReport[]>().default(() => []),
  /** If true, a request with a parameter that is not in the specification receives an error. */
  strictParameters: z.boolean().default(true),
  signal: z.custom<AbortSignal>().optional(),
})
/** The options of the sandbox. docs/SANDBOX.md explains these options. */
export interface SandboxOptions extends z.input<typeof Options> {}

export type Settings = z.output<typeof Options>

export interface SandboxState {
  readonly settings: Settings
  readonly faults: Faults
  readonly world: World
  readonly requests: RequestLog
  readonly nowSeconds: () => number
  readonly closing: AbortSignal
}

export function settingsFrom(options: SandboxOptions): Settings {
  const { data, error } = Options.safeParse(options)
  const [wrong] = error?.issues ?? []
  if (wrong !== undefined) {
    const name = String(wrong.path[0]) as keyof SandboxOptions
    const cure = wrong.message
    throw usageError(`sandbox: ${name} is ${JSON.stringify(options[name])}`, cure)
  }
  for (const fault of options.faults ?? []) parseFault(fault)
  return data as Settings
}
