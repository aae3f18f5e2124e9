/** What a seed draws before anything happens: which reports, how large a world, which settings, which faults, which runs. */
import type { ReportName } from '../../schema/index.ts'
import { Chance } from './chance.ts'
import { drawFaults, type Fault } from './faults.ts'

export const SIMULATED = ['events', 'budgets', 'enquiries', 'enquiry_audit_entries'] as const satisfies ReportName[]
export type Simulated = (typeof SIMULATED)[number]
/** Reports that hold records; the audit trail is the enquiries' own history. */
export type Recorded = Exclude<Simulated, 'enquiry_audit_entries'>

export interface Settings {
  readonly pageSize: number
  readonly loadRowsMax: number
  readonly concurrency: number
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
  readonly settings: Settings
}

export interface Scenario {
  readonly seed: number
  readonly faults: ReadonlySet<Fault>
  readonly reports: readonly Simulated[]
  readonly rows: number
  readonly overlapMs: number
  readonly settleMs: number
  readonly currencies: readonly string[]
  /** Whether collections are asked for. */
  readonly expands: boolean
  readonly runs: readonly RunPlan[]
  /** How the service sorts: an answer to the same question comes in the same order, unless the fault says otherwise. */
  readonly order: 'key' | 'keyDescending' | 'stamp' | 'stampDescending'
  /** What a page number behind the last page brings. */
  readonly beyondLast: 'nothing' | 'the last page'
  /** Rows that the service puts on a page at most; undefined: as many as asked for. */
  readonly clamp: number | undefined
  /** Whether the envelope tells the page size that was asked for instead of the one that holds. */
  readonly echoesPageSize: boolean
  /** Chance of a change of the world at each request. */
  readonly unrest: number
  readonly tokenLifetimeS: number
  readonly publishes: boolean
  /** Whether the quiet end compares whole reports as well. */
  readonly reconciles: boolean
}

const TROUBLES: readonly Trouble[] = [
  'crash',
  'cancel',
  'diskFull',
  'scopeRefused',
  'forbidden',
  'sameJobTwice',
  'staleWorker',
]

export function drawScenario(seed: number): Scenario {
  const chance = new Chance(seed, 'scenario')
  const faults = drawFaults(chance)
  const reports = drawReports(chance, faults)
  const first: Settings = {
    pageSize: chance.int(3, 10),
    loadRowsMax: chance.pick([4, 20, 1_000, 1_000]),
    concurrency: chance.int(1, 3),
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
    currencies: chance.happens(0.25) ? ['EUR', 'USD'] : ['EUR'],
    expands: faults.has('childrenGone') || chance.happens(0.4),
    runs: drawRuns(chance, faults, first),
    order: chance.pick(['key', 'keyDescending', 'stamp', 'stampDescending']),
    // Exactly a full page at one instant, shown again as page 2: nothing tells that from a page number that is ignored.
    beyondLast: faults.has('heap') ? 'nothing' : chance.pick(['nothing', 'nothing', 'the last page']),
    clamp: faults.has('pageSizeClamped') ? chance.int(2, 5) : undefined,
    echoesPageSize: chance.happens(0.3),
    unrest: chance.pick([0.05, 0.15, 0.4]),
    tokenLifetimeS: faults.has('tokenExpires') ? chance.int(1, 40) : 3_600,
    publishes: chance.happens(0.03),
    reconciles: faults.has('driftWithoutStamp') || chance.happens(0.1),
  }
}

function drawReports(chance: Chance, faults: ReadonlySet<Fault>): Simulated[] {
  const wanted = new Set<Simulated>([chance.pick(['events', 'budgets', 'enquiries'])])
  if (chance.happens(0.15)) wanted.add(chance.pick(SIMULATED))
  if (faults.has('shapeSwitched') || faults.has('childrenGone')) wanted.add('events')
  if (faults.has('driftWithoutStamp')) wanted.add('budgets')
  if (faults.has('totalLies')) wanted.add('enquiries')
  if (wanted.has('enquiries') && chance.happens(0.25)) wanted.add('enquiry_audit_entries')
  if (wanted.has('enquiry_audit_entries')) wanted.add('enquiries')
  return SIMULATED.filter((report) => wanted.has(report))
}

function drawRuns(chance: Chance, faults: ReadonlySet<Fault>, first: Settings): RunPlan[] {
  const troubles = TROUBLES.filter((trouble) => faults.has(trouble as Fault))
  let settings = first
  return Array.from({ length: chance.int(2, 4) }, (_, number) => {
    if (faults.has('settingsChanged') && number > 0) settings = { ...first, ...drawSettings(chance) }
    return {
      afterMs: chance.pick([1_000, 20_000, 120_000, 1_800_000]) + chance.int(0, 5_000),
      changes: chance.pick([0, 1, 3, 8]),
      trouble: troubles.length > 0 && chance.happens(0.6) ? chance.pick(troubles) : 'none',
      at: chance.happens(0.3) ? chance.int(1, 15) : chance.int(1, 150),
      settings,
    }
  })
}

const drawSettings = (chance: Chance): Settings => ({
  pageSize: chance.int(3, 12),
  loadRowsMax: chance.pick([4, 20, 1_000, 1_000]),
  concurrency: chance.int(1, 3),
})
