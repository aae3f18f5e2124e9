/**
 * What a seed draws before anything happens: which reports, how large a world, which settings, which faults, which
 * runs.
 */
import type { ReportName } from '../../schema/index.ts'
import { type Instant, minusMs, parseInstant } from '../../src/instant.ts'
import { Chance } from './chance.ts'
import { drawFaults, type Fault } from './faults.ts'
import type { ModelRecord, Version } from './model/record.ts'
import { EPOCH_MS } from './timeline.ts'

export const SIMULATED = ['events', 'budgets', 'enquiries', 'enquiry_audit_entries'] as const satisfies ReportName[]
export type Simulated = (typeof SIMULATED)[number]
/** Reports that hold records; the audit trail is the enquiries' own history. */
export type Recorded = Exclude<Simulated, 'enquiry_audit_entries'>

export interface Settings {
  readonly pageSize: number
  readonly loadRowsMax: number
  readonly concurrency: number
}

/** What the configuration asks the service for. */
export interface Asking {
  readonly start: Instant
  /** The filter that is set: only records of this company. */
  readonly companyId: number | undefined
  readonly currencies: readonly string[]
  /** Flags of collections that are on. */
  readonly expand: ReadonlySet<string>
}

/** What befalls a run from our own side, or from the service's authorisation. */
export type Trouble =
  | 'none'
  | 'crash'
  | 'cancel'
  | 'diskFull'
  | 'scopeRefused'
  | 'forbidden'
  | 'sameJobTwice'
  | 'staleWorker'

export interface RunPlan {
  /** Time before the run, in milliseconds. */
  readonly afterMs: number
  /** Changes of the world in that time. */
  readonly changes: number
  readonly trouble: Trouble
  /** Where in the run the trouble comes, counted in events or statements. */
  readonly at: number
  /** A death between two statements of a load instead: after so many of the run's. */
  readonly atLoadStatement: number | undefined
  /** A backfill runs beside it, or goes on. */
  readonly backfills: boolean
  /** The backfill's rows wait for long before they are loaded, while newer versions come. */
  readonly backfillSleeps: boolean
  /** A run that compares whole reports as well. */
  readonly reconciles: boolean
  /** A process of its own: the file was closed and is opened again. */
  readonly restarts: boolean
  readonly settings: Settings
  readonly asking: Asking
}

export interface Scenario {
  readonly seed: number
  readonly faults: ReadonlySet<Fault>
  readonly reports: readonly Simulated[]
  readonly rows: number
  readonly overlapMs: number
  readonly settleMs: number
  readonly runs: readonly RunPlan[]
  /** How the service sorts: an answer to the same question comes in the same order, unless the fault says otherwise. */
  readonly order: 'key' | 'keyDescending' | 'stamp' | 'stampDescending'
  /** What a page number behind the last page brings. */
  readonly beyondLast: 'nothing' | 'the last page' | 'a refusal'
  /** What page numbers count from. */
  readonly firstNumber: 0 | 1
  /** Rows that the service puts on a page at most; undefined: as many as asked for. */
  readonly clamp: number | undefined
  /** Rows to which every response is cut while page numbers are ignored; undefined: as many as asked for. */
  readonly hiddenLimit: number | undefined
  /**
   * The first run in which page numbers are ignored. If it is 1, the first run (0) has seen full pages, so a shortened
   * response looks like a last page.
   */
  readonly ignoresPagesFromRun: 0 | 1
  /** Whether a service that counts pages from 0 refuses a page 1 that it does not have. */
  readonly isStrict: boolean
  /** Whether some enquiries are shown later than any window asks for, and only counts show them. */
  readonly showsBeyond: boolean
  /** Whether the envelope tells the page size that was asked for instead of the one that holds. */
  readonly echoesPageSize: boolean
  /** Chance of a change of the world at each request. */
  readonly unrest: number
  readonly tokenLifetimeS: number
  readonly publishes: boolean
  /** Whether the quiet end compares whole reports as well. */
  readonly reconciles: boolean
  /** How far back a backfill reaches. */
  readonly backfillDays: number
  /** Most rows at one instant. */
  readonly heapMax: number
  /** DuckDB plans without its optimizer: on tables of this size that costs more than it saves. */
  readonly plansPlainly: boolean
}

export const COMPANIES = [1, 2] as const
export const COLLECTION_FLAGS = [
  'meetingRooms',
  'commissions',
  'assignments',
  'costItems',
  'bedrooms',
  'approver',
] as const
export const EARLIEST = parseInstant('2025-06-01T00:00:00Z') as Instant

/** Faults that say nothing where no collection is asked for. */
const EXPANDING: readonly Fault[] = ['childrenGone', 'questionChanged']

const TROUBLES: readonly Trouble[] = [
  'crash',
  'cancel',
  'diskFull',
  'scopeRefused',
  'forbidden',
  'sameJobTwice',
  'staleWorker',
]

/** What makes a missing first page look like something else: a wrong total, rows of no order on pages of a few rows. */
const HIDES_ZERO: readonly Fault[] = ['totalLies', 'unstableOrder', 'pageNumberIgnored']

export function drawScenario(seed: number): Scenario {
  const chance = new Chance(seed, 'scenario')
  const faults = drawFaults(chance, new Chance(seed, 'later faults'))
  const reports = drawReports(chance, faults)
  // A trail is asked record by record: thousands of those would be a test of patience.
  const isBulk = faults.has('heap') && !reports.includes('enquiry_audit_entries') && chance.happens(0.08)
  const first: Settings = {
    pageSize: chance.int(3, 10) * (isBulk ? 100 : 1),
    loadRowsMax: chance.pick([4, 20, 1_000, 1_000]) * (isBulk ? 100 : 1),
    concurrency: chance.int(1, 3),
  }
  const asking: Asking = {
    start: EARLIEST,
    companyId: undefined,
    currencies: chance.happens(0.25) ? ['EUR', 'USD'] : ['EUR'],
    expand: new Set(EXPANDING.some((fault) => faults.has(fault)) || chance.happens(0.4) ? COLLECTION_FLAGS : []),
  }
  return {
    seed,
    faults,
    reports,
    rows: faults.has('heap')
      ? chance.int(5, 20)
      : chance.pick([0, 1, chance.int(2, 12), chance.int(5, 30), chance.int(20, 45)]),
    overlapMs: chance.pick([30_000, 60_000, 300_000, 600_000]),
    settleMs: chance.pick([0, 1_000, 5_000, 30_000]),
    runs: drawRuns(chance, faults, { settings: first, asking }),
    order: chance.pick(['key', 'keyDescending', 'stamp', 'stampDescending']),
    // Exactly a full page at one instant, shown again as page 2: nothing tells that from a page number that is ignored.
    // Pages of two rows or one: rows of one instant fill them all, and nothing tells their end from a limit.
    beyondLast: chance.pick([
      'nothing',
      faults.has('pageSizeClamped') ? 'nothing' : 'a refusal',
      faults.has('heap') ? 'nothing' : 'the last page',
    ]),
    clamp: faults.has('pageSizeClamped') ? chance.int(2, 5) : undefined,
    // A short page that says it has room left, and whose total is met: nothing tells that from the only page.
    echoesPageSize: chance.happens(0.3) && !(faults.has('totalLies') && faults.has('pageSizeClamped')),
    ...drawHidden(seed, faults),
    unrest: chance.pick([0.05, 0.15, 0.4]),
    tokenLifetimeS: faults.has('tokenExpires') ? chance.int(1, 40) : 3_600,
    publishes: chance.happens(0.03),
    // No window finds a row by a stamp that went back.
    reconciles: faults.has('driftWithoutStamp') || chance.happens(0.1) || faults.has('stampsBack'),
    backfillDays: chance.pick([1, 7, 25]),
    heapMax: isBulk ? 2_500 : 20,
    plansPlainly: chance.happens(0.85),
    firstNumber: HIDES_ZERO.some((fault) => faults.has(fault)) || !chance.happens(0.15) ? 1 : 0,
  }
}

/** Faults that make a cut response look like pages, or like all there is. */
const HIDES_LIMIT: readonly Fault[] = ['totalLies', 'unstableOrder', 'heap', 'settingsChanged']

/** Drawn apart, so that seeds keep what they drew before these were known. */
function drawHidden(seed: number, faults: ReadonlySet<Fault>) {
  const chance = new Chance(seed, 'hidden')
  const mayCut = faults.has('pageNumberIgnored') && !HIDES_LIMIT.some((fault) => faults.has(fault))
  const [cuts, limit, isStrict, showsBeyond] = [
    chance.happens(0.6),
    chance.int(2, 5),
    chance.happens(0.7),
    chance.happens(0.25),
  ]
  const isLater = chance.happens(0.6)
  const hiddenLimit = mayCut && cuts ? limit : undefined
  // Totals that lie end the comparison of counts; with a filter there is none.
  const isCounted = !faults.has('totalLies') && !faults.has('questionChanged')
  // A backfill does not test whether pages have become shorter (docs/PROOFS.md, "single").
  const ignoresPagesFromRun: 0 | 1 = hiddenLimit !== undefined && isLater && !faults.has('backfill') ? 1 : 0
  return { hiddenLimit, ignoresPagesFromRun, isStrict, showsBeyond: showsBeyond && isCounted }
}

function drawReports(chance: Chance, faults: ReadonlySet<Fault>): Simulated[] {
  const wanted = new Set<Simulated>([chance.pick(['events', 'budgets', 'enquiries'])])
  if (chance.happens(0.15)) wanted.add(chance.pick(SIMULATED))
  if ((['shapeSwitched', 'childrenGone', 'summaryShape'] as const).some((fault) => faults.has(fault)))
    wanted.add('events')
  if (faults.has('driftWithoutStamp')) wanted.add('budgets')
  if (faults.has('totalLies')) wanted.add('enquiries')
  if (wanted.has('enquiries') && chance.happens(0.25)) wanted.add('enquiry_audit_entries')
  if (wanted.has('enquiry_audit_entries')) wanted.add('enquiries')
  return SIMULATED.filter((report) => wanted.has(report))
}

function drawRuns(
  chance: Chance,
  faults: ReadonlySet<Fault>,
  first: { settings: Settings; asking: Asking },
): RunPlan[] {
  const troubles = TROUBLES.filter((trouble) => faults.has(trouble as Fault))
  let { settings, asking } = first
  const before: Asking[] = []
  return Array.from({ length: chance.int(faults.has('questionChanged') ? 3 : 2, 4) }, (_, number) => {
    if (faults.has('settingsChanged') && number > 0) settings = { ...settings, ...drawSettings(chance, first.settings) }
    if (faults.has('questionChanged') && number > 0) asking = drawAsking(chance, { asking, before })
    before.push(asking)
    const trouble = troubles.length > 0 && chance.happens(0.6) ? chance.pick(troubles) : 'none'
    const at = chance.happens(0.3) ? chance.int(1, 15) : chance.int(1, 150)
    const dies = trouble === 'crash' || chance.happens(0.1)
    return {
      afterMs: chance.pick([1_000, 20_000, 120_000, 1_800_000]) + chance.int(0, 5_000),
      changes: chance.pick([0, 1, 3, 8]),
      trouble: dies ? 'crash' : trouble,
      at,
      atLoadStatement: dies && chance.happens(0.7) ? chance.int(1, chance.pick([15, 40, 80])) : undefined,
      backfills: faults.has('backfill') && chance.happens(0.7),
      backfillSleeps: chance.happens(0.6),
      reconciles: faults.has('reconciled') && chance.happens(0.5),
      restarts: chance.happens(0.15),
      settings,
      asking,
    }
  })
}

const drawSettings = (chance: Chance, first: Settings): Settings => {
  const isBulk = first.pageSize >= 100
  return {
    pageSize: chance.int(3, 12) * (isBulk ? 100 : 1),
    loadRowsMax: chance.pick([4, 20, 1_000, 1_000]) * (isBulk ? 100 : 1),
    concurrency: chance.int(1, 3),
  }
}

const DAY_MS = 86_400_000

/**
 * Some of what is asked changes, or the question becomes one of before again: what was left out meanwhile has to be
 * read.
 */
function drawAsking(chance: Chance, { asking, before }: { asking: Asking; before: readonly Asking[] }): Asking {
  if (chance.happens(0.4)) return chance.pick(before)
  const ago = minusMs((EPOCH_MS * 1_000) as Instant, chance.int(1, 15) * DAY_MS)
  return {
    start: chance.happens(0.3) ? chance.pick([EARLIEST, ago]) : asking.start,
    companyId: chance.happens(0.3) ? chance.pick([undefined, ...COMPANIES]) : asking.companyId,
    currencies: chance.happens(0.5) ? chance.pick([['EUR'], ['USD'], ['EUR', 'USD']]) : asking.currencies,
    expand: chance.happens(0.7) ? new Set(COLLECTION_FLAGS.filter(() => chance.happens(0.5))) : asking.expand,
  }
}

/** Whether the question brings the record as `version` has it. */
export function asks(asking: Asking, report: Recorded, { record, version }: { record: ModelRecord; version: Version }) {
  if (asking.companyId !== undefined && record.company !== asking.companyId) return false
  // Enquiries are read without a lower bound at first: the start only cuts their past in two.
  if (report === 'enquiries') return true
  return Math.max(version.stamp ?? 0, report === 'events' ? (version.ownStamp ?? 0) : 0) >= asking.start
}
