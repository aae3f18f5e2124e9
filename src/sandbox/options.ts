/** The sandbox's options, checked and completed with their defaults. `faultNames` is the list that `--help` prints. */
import { systemClock, type Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { AMOUNTS, type Amounts } from './dice.ts'
import { parseFault } from './faults.ts'
import { SCOPES, type ReportName } from './reports/index.ts'
import { TIME_STYLES, type TimeStyle } from './ticks.ts'

export { faultNames, parseFault } from './faults.ts'

export interface SandboxClient {
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  /** Reports for which this client receives status 403. */
  readonly forbidden?: readonly ReportName[]
  readonly disabled?: boolean
}

export const EVENT_SHAPES = ['full', 'summary', 'mixed'] as const
/** With `mixed`, about half of the events have the summary shape (spec §2), always the same ones. */
export type EventShape = (typeof EVENT_SHAPES)[number]

export const COMPRESSIONS = ['none', 'gzip', 'br'] as const
export type Compression = (typeof COMPRESSIONS)[number]

export interface SandboxOptions {
  /** The number of events. There are as many budgets and MERF submissions; other reports have half as many rows. */
  readonly rows?: number | undefined
  readonly seed?: number | undefined
  /** The port to listen on. The default 0 means any free port. */
  readonly port?: number | undefined
  /** Random changes per second. Default: 0. */
  readonly changesPerSecond?: number | undefined
  readonly clock?: Clock | undefined
  readonly eventShape?: EventShape | undefined
  readonly pageSizeMax?: number | undefined
  readonly pageSizeDefault?: number | undefined
  readonly tokenLifetimeSeconds?: number | undefined
  readonly tokenRequestsPerMinute?: number | undefined
  readonly clients?: readonly SandboxClient[] | undefined
  /** Each fault has the form `name[*count][@report][:argument]`. Example: `['5xx*3@events', 'slow:50']`. */
  readonly faults?: readonly string[] | undefined
  /** How response bodies above 1 KiB are compressed for clients that accept it. Default: `none`. */
  readonly compress?: Compression | undefined
  /** The number of items in every array collection. Default: a random number from 0 to 5 per row. */
  readonly itemsPerCollection?: number | undefined
  /** False if every collection is empty. */
  readonly collections?: boolean | undefined
  /** How date-times are written. Default: a random style per field. */
  readonly timeStyle?: TimeStyle | undefined
  /** `cents`: realistic prices. `long` (the default): amounts that lose digits in a reader that uses doubles. */
  readonly amounts?: Amounts | undefined
  /** If true, the service rejects parameters that the specification lacks. If false, the service ignores them. */
  readonly strictParameters?: boolean | undefined
}

type Undrawn = 'itemsPerCollection' | 'timeStyle'

/** The options with their defaults. The options in `Undrawn` have none: if undefined, the seed decides. */
export type Settings = {
  readonly [K in Exclude<keyof SandboxOptions, Undrawn>]-?: NonNullable<SandboxOptions[K]>
} & Pick<SandboxOptions, Undrawn>

export const DEMO_CLIENT: SandboxClient = { clientId: 'demo', clientSecret: 'demo-secret', scopes: SCOPES }

const DEFAULTS = {
  rows: 500,
  seed: 1,
  port: 0,
  changesPerSecond: 0,
  eventShape: 'full',
  pageSizeMax: 1_000,
  pageSizeDefault: 100,
  tokenLifetimeSeconds: 3_600,
  tokenRequestsPerMinute: 30,
  compress: 'none',
  amounts: 'long',
  collections: true,
  strictParameters: true,
} as const

export function settingsFrom(options: SandboxOptions): Settings {
  for (const name of [
    'rows',
    'pageSizeMax',
    'pageSizeDefault',
    'tokenLifetimeSeconds',
    'tokenRequestsPerMinute',
  ] as const) {
    wholeNumber(name, options[name], 1)
  }
  for (const name of ['port', 'itemsPerCollection'] as const) wholeNumber(name, options[name], 0)
  wholeNumber('seed', options.seed, Number.MIN_SAFE_INTEGER)
  oneOf('eventShape', options.eventShape, EVENT_SHAPES)
  oneOf('compress', options.compress, COMPRESSIONS)
  oneOf('timeStyle', options.timeStyle, TIME_STYLES)
  oneOf('amounts', options.amounts, AMOUNTS)
  const pace = options.changesPerSecond ?? 0
  if (Number.isNaN(pace) || pace < 0) throw refused('changesPerSecond', pace, 'Give a number of 0 or more.')
  for (const fault of options.faults ?? []) parseFault(fault)
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const basis: Settings = { ...DEFAULTS, clock: systemClock, clients: [DEMO_CLIENT], faults: [] }
  return { ...basis, ...(given as Partial<Settings>) }
}

function wholeNumber(name: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return
  throw refused(name, value, `Give a whole number of ${least} or more.`)
}

function oneOf(name: string, value: string | undefined, values: readonly string[]): void {
  if (value !== undefined && !values.includes(value)) throw refused(name, value, `Give one of: ${values.join(', ')}.`)
}

const refused = (name: string, value: unknown, cure: string): SyncError =>
  new SyncError('USAGE_INVALID', `sandbox: ${name} is ${String(value)}`, { cure })
