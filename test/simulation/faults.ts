/** What may go wrong: the kinds of fault, how a seed draws its own set of them, and how often each came about. */
import type { Chance } from './chance.ts'

export const FAULTS = {
  // what the service does while its pages are read
  insertWhileReading: 'rows are added while pages are read',
  editWhileReading: 'rows are edited while pages are read',
  deleteWhileReading: 'rows are deleted and undeleted while pages are read',
  unstableOrder: 'each answer has an order of its own',
  pageSizeClamped: 'pages are shorter than asked for',
  pageNumberIgnored: 'every page is the first one',
  totalLies: 'totalCount is too high, too low, or changes',
  lateCommit: 'a change shows up later than its stamp, within the overlap',
  futureStamp: 'a stamp lies in the future',
  heap: 'many rows stand at one instant, in some seeds thousands',
  hotRow: 'one row is edited every second',
  malformedRows: 'rows without a key, or with a value of the wrong type',
  childrenGone: 'a collection shrinks to nothing',
  shapeSwitched: 'events come in the summary shape for a while',
  stampsBack: 'an edit is stamped in the past, an event sometimes by its aggregate stamp alone',
  summaryShape: 'events have the summary shape: all of them, or half',
  driftWithoutStamp: 'amounts change without a new stamp',
  noDateHeader: 'answers carry no Date header',
  // clocks
  clockAhead: 'our clock is ahead',
  clockBehind: 'our clock is behind',
  clockJump: 'our clock jumps in the middle of a run',
  // settings
  settingsChanged: 'page size, load size and concurrency change between runs',
  questionChanged: 'start, filters, expand flags and currencies change between runs',
  // authorisation
  tokenRevoked: 'a token is refused once',
  scopeRefused: '401 for ever, until an operator acts',
  forbidden: '403 for ever, until an operator acts',
  tokenExpires: 'tokens live only seconds',
  // transport
  throttled: '429 with Retry-After',
  serverError: '5xx',
  timeout: 'no answer, or none in time',
  resetMidBody: 'the connection breaks in the middle of a body',
  truncatedJson: 'the body ends early, as if it were whole',
  webPage: 'a page of a proxy instead of JSON',
  slow: 'an answer takes minutes',
  // our own side
  crash: 'the process dies: at any await, or between two statements of a load',
  cancel: 'the run is stopped on request',
  diskFull: 'a statement finds the disk full',
  sameJobTwice: 'two runs of one report at the same time',
  staleWorker: 'a load waits for many minutes while another run of the report goes on',
  backfill: 'a range is read again beside the incremental runs, its rows come late, and it goes on where it stopped',
  reconciled: 'whole reports are compared while all of this goes on',
  damagedFile: 'a bit of the warehouse file is flipped before the last publication',
} as const

export type Fault = keyof typeof FAULTS

export const faultNames = Object.keys(FAULTS) as readonly Fault[]

/**
 * Faults that contradict each other: our clock stands in for the service's where it tells none, so it must be right.
 */
const CLOCKS: readonly Fault[] = ['clockAhead', 'clockBehind', 'clockJump']

/** Faults of later versions, which are drawn apart, so that the other draws of a seed stay what they were. */
const LATER: readonly Fault[] = ['stampsBack', 'summaryShape', 'damagedFile']
const LATER_SHARE = 0.07

/** Returns a seed's faults: some seeds have none, most a few, some many. */
export function drawFaults(chance: Chance, later: Chance): ReadonlySet<Fault> {
  const count = chance.pick([0, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12])
  const drawn = new Set(chance.shuffled(faultNames.filter((fault) => !LATER.includes(fault))).slice(0, count))
  for (const fault of LATER) if (later.happens(LATER_SHARE)) drawn.add(fault)
  if (drawn.has('noDateHeader')) for (const clock of CLOCKS) drawn.delete(clock)
  // A service that cuts pages short and shows only the first looks like one that has no more: nothing could tell.
  if (drawn.has('pageNumberIgnored')) drawn.delete('pageSizeClamped')
  // Two pages of two or three rows in no order bring the same ones too often: that says nothing of pages of a real size.
  if (drawn.has('unstableOrder')) drawn.delete('pageSizeClamped')
  return drawn
}

/** How often something came about. */
export class Tally {
  readonly counts = new Map<string, number>()

  add(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times)
  }

  addAll(other: Tally): void {
    for (const [what, times] of other.counts) this.add(what, times)
  }

  of(what: string): number {
    return this.counts.get(what) ?? 0
  }
}

/** Whether a fault is to come about now; counts it when it does. `off` once the seed comes to its quiet end. */
export class FaultSource {
  off = false
  /** Faults of this seed that begin with a later run. */
  readonly later = new Set<Fault>()
  readonly drawn: ReadonlySet<Fault>
  readonly tally: Tally
  readonly #chance: Chance

  constructor(drawn: ReadonlySet<Fault>, chance: Chance, tally: Tally) {
    this.drawn = drawn
    this.tally = tally
    this.#chance = chance
  }

  has(fault: Fault): boolean {
    return !this.off && this.drawn.has(fault) && !this.later.has(fault)
  }

  strikes(fault: Fault, probability: number): boolean {
    if (!this.has(fault) || !this.#chance.happens(probability)) return false
    this.tally.add(fault)
    return true
  }
}
