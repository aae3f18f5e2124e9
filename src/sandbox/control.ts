/** The control endpoint: sets faults, makes changes, lists requests. It is not part of the specification. */
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { json, plainStatus, type Answer } from './answer.ts'
import { isWorldReport, WORLD_REPORTS } from './reports/index.ts'
import type { RequestLog } from './requestLog.ts'
import type { WorldChange } from './changes.ts'
import type { Faults } from './faults.ts'
import type { World } from './world.ts'

interface ControlOptions {
  readonly world: World
  readonly requests: RequestLog
  readonly faults: Faults
  readonly clock: Clock
}

type Controls = ReturnType<typeof controlsOf>

export function controlsOf({ world, faults, clock, requests }: ControlOptions) {
  const pace = new Pace(clock, () => world.tick())
  const setFaults = (texts: readonly string[]): void => {
    faults.set(texts)
    world.rates.generation = Number(faults.peek('fx') ?? 0)
  }
  setFaults(faults.list())
  return {
    world,
    requests,
    setFaults,
    faults: () => faults.list(),
    setPace: (perSecond: number) => pace.set(perSecond),
    pace: () => pace.perSecond,
  }
}

type Body = Readonly<Record<string, unknown>>

export function controlAnswer(sandbox: Controls, { call, text }: { call: string; text: string }): Answer {
  try {
    const body = (text === '' ? {} : JSON.parse(text)) as Body
    return CALLS[call]?.(sandbox, body) ?? plainStatus(404, `Calls are: ${Object.keys(CALLS).join(', ')}`)
  } catch (error) {
    if (error instanceof SyncError) return json(400, { title: error.message, cure: error.cure })
    if (error instanceof SyntaxError) return plainStatus(400, 'The body is not JSON')
    throw error
  }
}

const CALLS: Readonly<Record<string, (sandbox: Controls, body: Body) => Answer>> = {
  'POST faults': (sandbox, body) => {
    const faults = body['faults']
    if (!Array.isArray(faults))
      throw refusal('faults must be an array', 'Send {"faults":["slow:200"]}; an empty array disables all faults.')
    sandbox.setFaults(faults.map(String))
    return json(200, { faults: sandbox.faults() })
  },
  'POST changes': (sandbox, body) => {
    const perSecond = body['perSecond']
    if (typeof perSecond !== 'number' || perSecond < 0)
      throw refusal('perSecond must be a number', 'Send {"perSecond":5}; 0 stops the changes.')
    sandbox.setPace(perSecond)
    return json(200, { perSecond })
  },
  'POST change': (sandbox, body) => json(200, change(sandbox.world, body)),
  'GET requests': (sandbox) =>
    json(200, { total: sandbox.requests.total, counts: sandbox.requests.counts(), requests: sandbox.requests.list() }),
  'GET state': (sandbox) =>
    json(200, {
      faults: sandbox.faults(),
      perSecond: sandbox.pace(),
      rows: Object.fromEntries(
        WORLD_REPORTS.map((report) => [
          report,
          { all: sandbox.world.keys(report).length, live: sandbox.world.liveKeys(report).length },
        ]),
      ),
    }),
}

const KEYED = [
  'edit',
  'editChild',
  'addChild',
  'removeChild',
  'clearChildren',
  'softDelete',
  'undelete',
  'silentEdit',
] as const

/** Without a `key` in the body, changes the least recently modified row of those that are not deleted. */
function change(world: World, body: Body): WorldChange {
  const { action } = body
  const report = typeof body['report'] === 'string' ? body['report'] : ''
  if (action === 'tick' && report === '') return world.tick()
  if (!isWorldReport(report)) throw refusal(`unknown report '${report}'`, `Reports are: ${WORLD_REPORTS.join(', ')}.`)
  const ms = typeof body['ms'] === 'number' ? body['ms'] : 60_000
  if (action === 'tick') return world.tick(report)
  if (action === 'insert') return world.insert(report)
  if (action === 'lateCommit') return world.lateCommit(report, ms)
  const key = typeof body['key'] === 'number' ? body['key'] : anyKey(world, report)
  if (action === 'stampFuture') return world.stampFuture(report, key, ms)
  if (action === 'putRow') return world.putRow(report, key, rawFields(body['fields']))
  const named = KEYED.find((each) => each === action)
  if (named === undefined)
    throw refusal(
      `unknown action '${String(action)}'`,
      `Actions are: ${[...KEYED, 'insert', 'lateCommit', 'stampFuture', 'putRow', 'tick'].join(', ')}.`,
    )
  return world[named](report, key, typeof body['field'] === 'string' ? body['field'] : undefined)
}

function anyKey(world: World, report: (typeof WORLD_REPORTS)[number]): number {
  const [key] = world.liveKeys(report)
  if (key === undefined) throw refusal(`${report} has no row`, 'Insert one first, or name a key.')
  return key
}

function rawFields(fields: unknown): Record<string, string> {
  if (typeof fields !== 'object' || fields === null)
    throw refusal('fields must be an object', 'Send raw JSON text by field: {"fields":{"status":"7"}}.')
  return Object.fromEntries(Object.entries(fields).map(([name, raw]) => [name, String(raw)]))
}

const refusal = (message: string, cure: string): SyncError => new SyncError('USAGE_INVALID', message, { cure })

const PORTION_MS = 50
const PORTION_CHANGES_MAX = 5_000

class Pace {
  readonly #clock: Clock
  readonly #change: () => void
  perSecond = 0
  #pending = 0
  #lastMs = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock, change: () => void) {
    this.#clock = clock
    this.#change = change
  }

  set(perSecond: number): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.perSecond = perSecond
    this.#pending = 0
    this.#lastMs = this.#clock.monotonicMs()
    if (perSecond > 0) this.#schedule()
  }

  #schedule(): void {
    this.#cancel = this.#clock.after(PORTION_MS, () => {
      const nowMs = this.#clock.monotonicMs()
      this.#pending += ((nowMs - this.#lastMs) / 1_000) * this.perSecond
      this.#lastMs = nowMs
      const due = Math.min(Math.floor(this.#pending), PORTION_CHANGES_MAX)
      this.#pending -= Math.floor(this.#pending)
      for (let i = 0; i < due; i += 1) this.#change()
      this.#schedule()
    })
  }
}
