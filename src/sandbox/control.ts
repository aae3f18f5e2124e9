/** The endpoint that changes a running sandbox, for example its faults. It is not part of the specification. */
import type { Clock } from '../clock.ts'
import { SyncError, usageError } from '../errors.ts'
import { json, plainStatus, type Answer } from './answer.ts'
import type { SandboxState } from './options.ts'
import { isWorldReport, perReport, WORLD_REPORTS } from './reports/index.ts'
import { type Body, isObject } from './validate.ts'
import type { World, WorldChange } from './world.ts'

const PORTION_MS = 50
const PORTION_CHANGES_MAX = 5_000

export type ChangeTimer = ReturnType<typeof createChangeTimer>

/** Returns a timer that changes random rows, after `set` is called with a number of changes per second. */
export function createChangeTimer(clock: Clock, world: World) {
  let cancel: (() => void) | undefined
  const schedule = (left: number, lastMs: number): void => {
    cancel = clock.after(PORTION_MS, () => {
      const nowMs = clock.monotonicMs()
      const pending = left + ((nowMs - lastMs) / 1_000) * timer.perSecond
      for (let due = Math.min(Math.floor(pending), PORTION_CHANGES_MAX); due > 0; due -= 1) world.tick()
      schedule(pending % 1, nowMs)
    })
  }
  const timer = {
    perSecond: 0,
    set: (perSecond: number): void => {
      cancel?.()
      timer.perSecond = perSecond
      if (perSecond > 0) schedule(0, clock.monotonicMs())
    },
  }
  return timer
}

export function answerControl(
  state: SandboxState,
  timer: ChangeTimer,
  { call, text }: { call: string; text: string },
): Answer {
  try {
    const body = (text === '' ? {} : JSON.parse(text)) as Body
    const answer = CALLS[call]?.(state, timer, body)
    return answer === undefined ? plainStatus(404, `Calls are: ${Object.keys(CALLS).join(', ')}`) : json(200, answer)
  } catch (error) {
    if (error instanceof SyncError) return json(400, { title: error.message, cure: error.cure })
    if (error instanceof SyntaxError) return plainStatus(400, 'The body is not JSON')
    throw error
  }
}

const CALLS: Readonly<Record<string, (state: SandboxState, timer: ChangeTimer, body: Body) => object>> = {
  'POST faults': ({ faults }, _, body) => {
    const texts = body['faults']
    if (!Array.isArray(texts))
      throw usageError('faults must be an array', 'Send {"faults":["slow:200"]}; an empty array disables all faults.')
    faults.set(texts.map(String))
    return { faults: faults.list() }
  },
  'POST changes': (_, timer, { perSecond }) => {
    if (typeof perSecond !== 'number' || perSecond < 0)
      throw usageError('perSecond must be a number', 'Send {"perSecond":5}; 0 stops the changes.')
    timer.set(perSecond)
    return { perSecond }
  },
  'POST change': ({ world }, _, body) => change(world, body),
  'GET requests': ({ requests }) => ({ total: requests.total, counts: requests.counts(), requests: requests.list() }),
  'GET state': ({ faults, world }, { perSecond }) => ({
    faults: faults.list(),
    perSecond,
    rows: perReport((report) => ({ all: world.keys(report).length, live: world.liveKeys(report).length })),
  }),
}

const OF_COLLECTIONS = ['editChild', 'addChild', 'removeChild', 'clearChildren'] as const
const OF_ROWS = ['edit', ...OF_COLLECTIONS, 'softDelete', 'undelete', 'silentEdit'] as const

/** Without `key`, changes the least recently modified row. */
function change(world: World, body: Body): WorldChange {
  const { action, field } = body
  const report = typeof body['report'] === 'string' ? body['report'] : ''
  if (action === 'tick' && report === '') return world.tick()
  if (!isWorldReport(report)) throw usageError(`unknown report '${report}'`, `Name one of ${WORLD_REPORTS.join(', ')}.`)
  const ms = typeof body['ms'] === 'number' ? body['ms'] : 60_000
  const key = (): number => {
    const found = typeof body['key'] === 'number' ? body['key'] : world.liveKeys(report)[0]
    if (found === undefined) throw usageError(`${report} has no row`, 'Insert one first, or name a key.')
    return found
  }
  const collection = typeof field === 'string' ? field : undefined
  const actions = new Map<unknown, () => WorldChange>([
    ...OF_ROWS.map((each) => [each, () => world[each](report, key(), collection)] as const),
    ['insert', () => world.insert(report)],
    ['lateCommit', () => world.lateCommit(report, ms)],
    ['stampFuture', () => world.stampFuture(report, key(), ms)],
    ['putRow', () => world.putRow(report, key(), rawFields(body['fields']))],
    ['tick', () => world.tick(report)],
  ])
  const act = actions.get(action)
  if (act === undefined)
    throw usageError(`unknown action '${String(action)}'`, `Actions are: ${[...actions.keys()].join(', ')}.`)
  return act()
}

function rawFields(fields: unknown): Record<string, string> {
  if (!isObject(fields)) throw usageError('fields must be an object', 'Send raw JSON text: {"fields":{"status":"7"}}.')
  return Object.fromEntries(Object.entries(fields).map(([name, raw]) => [name, String(raw)]))
}
