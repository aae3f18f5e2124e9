/**
 * One seed: a world and a service drawn from it, the real engine on a machine of its own.
 * Some runs while everything that the seed drew goes wrong, then quiet. What is promised is looked at after every commit, and in full at the end.
 */
import { randomUUID } from 'node:crypto'
import { asSyncError } from '../../src/errors.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { Chance } from './chance.ts'
import { differences } from './compare.ts'
import { FaultSource, Tally } from './faults.ts'
import { Gaps } from './gaps.ts'
import { History } from './history.ts'
import { Invariants } from './invariants.ts'
import { Machine } from './machine.ts'
import { newestOf } from './model/record.ts'
import { World } from './model/world.ts'
import { publishedDifferences } from './published.ts'
import { drawScenario, type Recorded, type RunPlan, type Scenario } from './scenario.ts'
import { Service } from './service.ts'
import { EPOCH_MS, MachineClock, Timeline } from './timeline.ts'
import { backfillAll, backfillRange, STALE_MS, work, type Workshop } from './work.ts'

export interface SeedResult {
  readonly seed: number
  readonly scenario: Scenario
  /** What was found to be broken; none: the seed passed. */
  readonly broken: readonly string[]
  readonly history: readonly string[]
  readonly tally: Tally
  readonly figures: Figures
}

export interface Figures {
  readonly commits: number
  /** Times that the invariants were looked at. */
  readonly looks: number
  readonly statements: number
  readonly requests: number
  readonly rows: number
  readonly changes: number
  readonly events: number
  readonly virtualMs: number
  readonly requestsOfLongestRun: number
}

export interface SimulateOptions {
  /** How many of the last lines a result has. */
  readonly historyLines?: number
}

/** Events of one run at most: ten times what the longest honest run takes. */
const RUN_EVENTS_MAX = 60_000
/** Requests of one run at most: what `walk_pages_max` allows to each of its readers, with all attempts. */
const RUN_REQUESTS_MAX = 6_000
const HOUR_MS = 3_600_000

export async function simulate(seed: number, options: SimulateOptions = {}): Promise<SeedResult> {
  const simulation = await Simulation.start(seed)
  try {
    await simulation.live()
    await simulation.comeToRest()
  } catch (error) {
    simulation.fail(error)
  } finally {
    await simulation.machine.end()
  }
  return simulation.result(options.historyLines ?? 60)
}

class Simulation {
  readonly machine: Machine
  readonly #scenario: Scenario
  readonly #timeline: Timeline
  readonly #clock: MachineClock
  readonly #faults: FaultSource
  readonly #tally: Tally
  readonly #world: World
  readonly #service: Service
  readonly #invariants: Invariants
  readonly #history: History
  readonly #gaps: Gaps
  #longest = 0
  #livedMs = 0

  private constructor(parts: SimulationParts) {
    this.machine = parts.machine
    this.#scenario = parts.scenario
    this.#timeline = parts.timeline
    this.#clock = parts.clock
    this.#faults = parts.faults
    this.#tally = parts.faults.tally
    this.#world = parts.world
    this.#service = parts.service
    this.#invariants = parts.invariants
    this.#history = parts.history
    this.#gaps = parts.gaps
  }

  static async start(seed: number): Promise<Simulation> {
    const scenario = drawScenario(seed)
    const timeline = new Timeline()
    const history = new History(timeline)
    const tally = new Tally()
    const faults = new FaultSource(scenario.faults, new Chance(seed, 'faults'), tally)
    const gaps = new Gaps(tally)
    const clock = new MachineClock(timeline, new Chance(seed, 'clock'))
    const world = new World(scenario, { chance: new Chance(seed, 'world'), faults, timeline })
    const service = new Service({ scenario, world, faults, timeline, history, chance: new Chance(seed, 'service') })
    const invariants = new Invariants(world, scenario)
    const machine = await Machine.start({
      scenario,
      timeline,
      clock,
      service,
      history,
      gaps,
      chance: new Chance(seed, 'machine'),
      onCommit: (report, rows) => check({ invariants, history }, report, rows),
      onTrouble: (error) => invariants.broken.push(`a look failed: ${String(error)}`),
    })
    return new Simulation({ machine, scenario, timeline, clock, faults, world, service, invariants, history, gaps })
  }

  /** The time in which things go wrong. */
  async live(): Promise<void> {
    if (this.#faults.strikes('clockAhead', 1)) this.#clock.skewMs = 47 * 60_000
    if (this.#faults.strikes('clockBehind', 1)) this.#clock.skewMs = -5 * HOUR_MS
    for (const [number, plan] of this.#scenario.runs.entries()) {
      if (number < this.#scenario.ignoresPagesFromRun) this.#faults.later.add('pageNumberIgnored')
      else this.#faults.later.delete('pageNumberIgnored')
      this.#pass(plan)
      if (number === 1 && this.#faults.strikes('shapeSwitched', 1)) this.#switchShape()
      const before = this.#scenario.runs[number - 1] ?? plan
      if (plan.settings !== before.settings) this.#tally.add('settingsChanged')
      if (plan.asking !== before.asking) this.#tally.add('questionChanged')
      if (plan.restarts) await this.machine.restart()
      await this.#run(plan)
      if (this.#invariants.broken.length > 0) return
      if (this.#scenario.publishes) await this.#publish()
    }
  }

  /** Nothing goes wrong any more, all that was late is shown: two runs, and the warehouse equals the model. */
  async comeToRest(): Promise<void> {
    if (this.#invariants.broken.length > 0) return
    const { overlapMs, settleMs } = this.#scenario
    this.#faults.off = true
    this.#world.summaryTimes.forEach((time) => {
      time.until = Math.min(time.until, this.#world.now)
    })
    this.#world.mend()
    const waitMs = Math.max(0, this.#world.latest / 1_000 - EPOCH_MS - this.#timeline.nowMs)
    this.#timeline.pass(waitMs + overlapMs + settleMs + HOUR_MS)
    this.#history.tell(() => '--- quiet ---')
    await this.#takeBackRefusals()
    if (this.#backfills) await this.#endBackfills()
    await this.#honest('first quiet run')
    await this.#settleCounts()
    const outcomes = await this.#honest('second quiet run')
    const written = outcomes.filter(({ figures }) => figures.inserted + figures.updated + figures.deleted > 0)
    for (const { report, figures } of written) {
      this.#break(`11: the second run of ${report} at the end wrote rows: ${JSON.stringify(figures)}`)
    }
    const isCounted = this.#mayCount
    if (isCounted) await this.#surprise()
    if (this.#scenario.reconciles) await this.#reconcile()
    // A version that only a reconcile finds, such as one whose stamp went back, has its audit trail read by the next run.
    if (this.#scenario.reconciles && this.#scenario.reports.includes('enquiry_audit_entries'))
      await this.#honest('run after the reconcile')
    await this.#compare(isCounted)
    this.#checkTokens()
  }

  result(historyLines: number): SeedResult {
    return {
      seed: this.#scenario.seed,
      scenario: this.#scenario,
      broken: this.#invariants.broken,
      history: this.#history.lines(historyLines),
      tally: this.#tally,
      figures: {
        commits: this.machine.commits,
        looks: this.#invariants.looks,
        statements: this.machine.statements,
        requests: this.#service.requests,
        rows: this.#world.recorded.reduce((sum, report) => sum + this.#world.records[report].size, 0),
        changes: this.#world.changes,
        events: this.#timeline.events,
        virtualMs: this.#timeline.nowMs,
        requestsOfLongestRun: this.#longest,
      },
    }
  }

  fail(error: unknown): void {
    this.#break(`8: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  }

  #pass({ afterMs, changes }: RunPlan): void {
    for (let change = 0; change < changes; change += 1) {
      this.#timeline.pass(Math.floor(afterMs / (changes + 1)))
      this.#world.change()
    }
    this.#timeline.pass(Math.floor(afterMs / (changes + 1)))
  }

  #switchShape(): void {
    const { now } = this.#world
    this.#world.summaryTimes.push({ from: now, until: now + this.#scenario.overlapMs * 2_000 })
  }

  /** One run with its trouble. A run that fails says so in its outcome; what matters is that it ends. */
  async #run(plan: RunPlan): Promise<void> {
    const { context, stop } = await this.machine.context(plan)
    const { timeline, requests } = { timeline: this.#timeline, requests: this.#service.requests }
    this.#prepare(plan, stop)
    const startedMs = timeline.nowMs
    const working = work(this.#workshop, plan, context).catch((error: unknown) => {
      this.#lastWords(error)
      return []
    })
    const outcomes = await timeline.run(working)
    this.#livedMs += timeline.nowMs - startedMs
    timeline.onEvent = () => undefined
    this.#gaps.arm(undefined, () => undefined)
    this.#longest = Math.max(this.#longest, this.#service.requests - requests)
    for (const { report, state, error } of outcomes) {
      this.#tally.add(`run ${state}`)
      this.#history.tell(
        () => `run of ${report} ${state} ${error === undefined ? '' : `${error.code}: ${error.message}`}`,
      )
      if (error?.code === 'UNEXPECTED' && !this.machine.isDead) this.#break(`8: ${report} ended in ${error.message}`)
      if (error !== undefined && !this.machine.isDead) this.#tally.add(`error ${error.code}`)
    }
    if (this.#service.requests - requests > RUN_REQUESTS_MAX)
      this.#break(`8: a run sent ${this.#service.requests - requests} requests`)
    await this.#recover()
    if (!this.#faults.off) await this.#checkAll(plan)
  }

  /** Marks that wait for the next statement are committed between two runs, without a look of their own. */
  async #checkAll(plan: RunPlan): Promise<void> {
    await this.machine.context(plan)
    const rows = <T>(sql: string) => this.machine.rows<T>(sql)
    await this.#invariants.lookAtChildren(rows)
    const parts = { invariants: this.#invariants, history: this.#history }
    for (const report of this.#world.recorded) await check(parts, report, rows)
  }

  /** Sets what befalls the run, and the bound of its events. */
  #prepare({ trouble, at, atLoadStatement, asking }: RunPlan, stop: AbortController): void {
    const { machine } = this
    this.#invariants.willAsk(asking)
    this.#gaps.arm(trouble === 'crash' ? atLoadStatement : undefined, () => this.#die())
    const first = this.#timeline.events
    machine.fullAt =
      trouble === 'diskFull' ? { statement: machine.statements + at, onlyCommit: at % 2 === 0 } : undefined
    this.#service.refusal = trouble === 'forbidden' || trouble === 'scopeRefused' ? trouble : undefined
    if (this.#service.refusal !== undefined) this.#tally.add(trouble)
    const jumpsAt = this.#faults.has('clockJump') ? at : undefined
    this.#timeline.onEvent = (number) => {
      const event = number - first
      if (event === jumpsAt && this.#faults.strikes('clockJump', 1))
        this.#clock.skewMs += event % 2 === 0 ? -7 * HOUR_MS : 26 * HOUR_MS
      if (event === at && trouble === 'crash' && atLoadStatement === undefined) this.#die()
      if (event === at && trouble === 'cancel') this.#cancel(stop)
      if (event === RUN_EVENTS_MAX) this.#cancel(stop)
      if (event > RUN_EVENTS_MAX + 1_000) throw new Error('a run does not end, not even when it is stopped')
    }
  }

  #die(): void {
    this.#tally.add('crash')
    this.#history.tell(() => '--- the process dies ---')
    this.#gaps.died()
    this.machine.die()
  }

  #cancel(stop: AbortController): void {
    this.#tally.add('cancel')
    this.#history.tell(() => '--- stopped ---')
    stop.abort(new DOMException('stopped', 'AbortError'))
  }

  get #backfills(): boolean {
    return this.#scenario.runs.some(({ backfills }) => backfills)
  }

  get #workshop(): Workshop {
    return {
      scenario: this.#scenario,
      timeline: this.#timeline,
      tally: this.#tally,
      recorded: this.#world.recorded,
      lastWords: (error) => this.#lastWords(error),
      changeMeanwhile: () => this.#changeMeanwhile(),
    }
  }

  /** A process that dies has no outcomes; any other run tells its failures instead of throwing. */
  #lastWords(error: unknown): void {
    const isExpected = asSyncError(error).code !== 'UNEXPECTED'
    if (!this.machine.isDead && !isExpected) this.fail(error)
  }

  #changeMeanwhile(): void {
    for (const part of [0.05, 0.1, 0.15, 0.2, 0.3, 0.4])
      this.#timeline.schedule(STALE_MS * part, () => this.#world.change())
  }

  /** After a run: a new process where the old one died, and an operator who takes back what was refused. */
  async #recover(): Promise<void> {
    this.#service.refusal = undefined
    this.machine.fullAt = undefined
    if (!this.machine.isDead) return this.machine.resume()
    await this.machine.bury()
  }

  /** A process that died of its last run may have left a report paused. */
  async #takeBackRefusals(): Promise<void> {
    await this.machine.context(this.#scenario.runs.at(-1) as RunPlan)
    return this.machine.resume()
  }

  /** A run that has no excuse. */
  async #honest(name: string): Promise<ReportOutcome[]> {
    const plan = this.#scenario.runs.at(-1) as RunPlan
    const { context, stop } = await this.machine.context(plan)
    this.#prepare({ ...plan, trouble: 'none' }, stop)
    this.#service.tokens.begun()
    const startedMs = this.#timeline.nowMs
    const outcomes = await this.#timeline.run(syncAll(context, this.#scenario.reports))
    this.#livedMs += this.#timeline.nowMs - startedMs
    for (const { report, error } of outcomes) {
      if (this.#reallyLost(error)) await this.#reconcile()
      else if (error !== undefined) this.#break(`8: the ${name} of ${report} failed: ${error.code} ${error.message}`)
    }
    this.#timeline.pass(1_000)
    return outcomes
  }

  /** The brake stopped a run, although the service had deleted these rows: an operator then reconciles without the brake. */
  #reallyLost(error: ReportOutcome['error']): boolean {
    if (error?.code !== 'MASS_DELETE_STOPPED') return false
    const lost = [...this.#world.records.enquiries.values()].filter((record) => newestOf(record).deleted)
    return lost.length >= Number(error.data['deleted'])
  }

  /** Backfills that were stopped go on and come to their end; a new one reads the same range as it is now. */
  async #endBackfills(): Promise<void> {
    const { context, stop } = await this.machine.context(this.#scenario.runs.at(-1) as RunPlan)
    this.#prepare({ ...(this.#scenario.runs.at(-1) as RunPlan), trouble: 'none' }, stop)
    const missing = await this.#timeline.run(backfillAll(this.#workshop, context))
    this.#world.driftAll()
    missing.push(...(await this.#timeline.run(backfillAll(this.#workshop, context, 'quiet'))))
    for (const what of missing) this.#break(`8: the quiet backfill of ${what}`)
  }

  /** Rows are only deleted for absence when they don't come twice in a row. */
  async #reconcile(): Promise<void> {
    const { context } = await this.machine.context(this.#scenario.runs.at(-1) as RunPlan)
    this.#tally.add('reconcile')
    // One that was stopped goes on first: it may have seen rows that were deleted since.
    for (let times = this.#scenario.runs.some(({ reconciles }) => reconciles) ? 3 : 2; times > 0; times -= 1) {
      for (const report of this.#world.recorded) {
        const options = { runId: randomUUID(), allowMassDelete: true }
        await this.#timeline.run(reconcileReport(context, report, options))
      }
      this.#timeline.pass(1_000)
    }
  }

  /** Counts are compared until two runs in a row find nothing: a row is deleted when it is absent for the second time. */
  async #settleCounts(): Promise<void> {
    if (!this.#world.recorded.includes('enquiries')) return
    for (let quiet = 0, run = 0; quiet < 2 && run < 12; run += 1) {
      this.#timeline.pass(this.#scenario.settleMs + 2_000)
      const outcomes = await this.#honest('counting run')
      const wrote = outcomes.some(({ figures }) => figures.inserted + figures.updated + figures.deleted > 0)
      quiet = wrote ? 0 : quiet + 1
    }
  }

  /** Whether counts show every deletion: no filter, no row that cannot be stored, and each row has a time of creation. */
  get #mayCount(): boolean {
    const { asking } = this.#scenario.runs.at(-1) as RunPlan
    const enquiries = [...this.#world.records.enquiries.values()]
    const isWhole = enquiries.every(
      ({ created, versions }) => created !== undefined && versions.every((each) => each.broken === undefined),
    )
    return (
      this.#scenario.showsBeyond &&
      this.#world.recorded.includes('enquiries') &&
      isWhole &&
      asking.companyId === undefined
    )
  }

  async #surprise(): Promise<void> {
    this.#tally.add('shownBeyond')
    // Counting that was stopped while totals lied begins again after a day.
    this.#timeline.pass(25 * HOUR_MS)
    await this.#settleCounts()
    // One after the other: a late row hides a deletion in the count.
    for (const change of [() => this.#world.showLate(), () => this.#world.deleteEnquiry()]) {
      change()
      this.#timeline.pass(this.#scenario.overlapMs + HOUR_MS)
      await this.#settleCounts()
    }
  }

  async #compare(isCounted: boolean): Promise<void> {
    const { asking } = this.#scenario.runs.at(-1) as RunPlan
    const { reconciles: reconciled } = this.#scenario
    const backfilled = this.#backfills ? backfillRange(this.#scenario) : undefined
    const comparison = { world: this.#world, scenario: this.#scenario, asking, backfilled, reconciled, isCounted }
    const rows = <T>(sql: string) => this.machine.rows<T>(sql)
    this.#break(...(await differences(rows, comparison)))
    const isDamaged = this.#scenario.faults.has('damagedFile')
    if (!(this.#scenario.publishes || isDamaged) || this.#invariants.broken.length > 0) return
    const path = await this.machine.publish()
    if (isDamaged) await this.#damage()
    this.#break(...(await publishedDifferences(path, (look) => differences(look, comparison))))
  }

  /** Checks that after a flipped bit the copy is the last good one, or can be read whole. */
  async #damage(): Promise<void> {
    this.#tally.add('damagedFile')
    const refusal = await this.machine.publishDamaged(new Chance(this.#scenario.seed, 'damage'))
    if (refusal !== undefined && refusal !== 'WAREHOUSE_CORRUPT') this.#break(`7: a damaged file ends in ${refusal}`)
    if (refusal !== undefined) this.#tally.add('damage noticed')
  }

  async #publish(): Promise<void> {
    await this.machine.context(this.#scenario.runs.at(-1) as RunPlan)
    const path = await this.machine.publish()
    this.#tally.add('published')
    const copied = new Invariants(this.#world, this.#scenario)
    for (const { asking } of this.#scenario.runs) copied.willAsk(asking)
    const broken = await publishedDifferences(path, async (look) => {
      for (const report of this.#world.recorded) await copied.look(report, look)
      return copied.broken
    })
    this.#break(...broken)
  }

  #checkTokens(): void {
    const { tokens } = this.#service
    tokens.lived(this.#livedMs + this.#scenario.runs.length * 60_000)
    if (tokens.asked > tokens.budget) this.#break(`6: ${tokens.asked} token requests, ${tokens.budget} had a reason`)
  }

  #break(...what: string[]): void {
    this.#invariants.broken.push(...what)
  }
}

/** Checks what must hold at every commit. The history names the place where it did not. */
async function check(
  { invariants, history }: Pick<SimulationParts, 'invariants' | 'history'>,
  report: Recorded,
  rows: <T>(sql: string) => Promise<T[]>,
): Promise<void> {
  const known = invariants.broken.length
  await invariants.look(report, rows)
  const [first, ...others] = invariants.broken.slice(known)
  if (first !== undefined) history.tell(() => `broken: ${first.slice(0, 60)} … (and ${others.length} more)`)
}

interface SimulationParts {
  readonly machine: Machine
  readonly scenario: Scenario
  readonly timeline: Timeline
  readonly clock: MachineClock
  readonly faults: FaultSource
  readonly world: World
  readonly service: Service
  readonly invariants: Invariants
  readonly history: History
  readonly gaps: Gaps
}
