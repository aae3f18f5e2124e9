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
  /** Reports for which this client receives a 403. */
  readonly forbidden?: readonly ReportName[]
  readonly disabled?: boolean
}

export const EVENT_SHAPES = ['full', 'summary', 'mixed'] as const
/** `mixed`: about half of the events, always the same ones, have the summary shape (spec §2). */
export type EventShape = (typeof EVENT_SHAPES)[number]

export const COMPRESSIONS = ['none', 'gzip', 'br'] as const
export type Compression = (typeof COMPRESSIONS)[number]

export interface SandboxOptions {
  /** The number of events. Budgets and MERF submissions are as many; other reports have half as many. Default 500. */
  readonly rows?: number | undefined
  readonly seed?: number | undefined
  /** Port to listen on. Default 0: any free port. */
  readonly port?: number | undefined
  /** Random changes per second. Default 0. */
  readonly changesPerSecond?: number | undefined
  readonly clock?: Clock | undefined
  readonly eventShape?: EventShape | undefined
  readonly pageSizeMax?: number | undefined
  readonly pageSizeDefault?: number | undefined
  readonly tokenLifetimeSeconds?: number | undefined
  readonly tokenRequestsPerMinute?: number | undefined
  readonly clients?: readonly SandboxClient[] | undefined
  /** `name[*count][@report][:argument]`. Example: `['5xx*3@events', 'slow:50']`. */
  readonly faults?: readonly string[] | undefined
  /** How bodies above 1 KB are compressed for clients that accept it. Default none. */
  readonly compress?: Compression | undefined
  /** Items in every array collection. Default: 0 to 5, random per row. */
  readonly itemsPerCollection?: number | undefined
  /** False: every collection is empty. */
  readonly collections?: boolean | undefined
  /** How date-times are written. Default: drawn per field. */
  readonly timeStyle?: TimeStyle | undefined
  /** `cents`: believable prices. Default `long`: amounts that lose digits in a reader that uses doubles. */
  readonly amounts?: Amounts | undefined
  /** False: parameters that are not in the specification are ignored and not refused. */
  readonly strictParameters?: boolean | undefined
}

type Undrawn = 'itemsPerCollection' | 'timeStyle'

/** The options with their defaults. If one is undefined, the seed decides. */
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
