/** Measures one tick: a run that stores 40 changed rows, and the next run, which finds no change. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Line, type Options, type Suite, formatted, median } from '../measure.ts'
import type { Done } from '../programs/tide.ts'
import { startTide } from '../programs/start.ts'
import type { Flavour } from '../service/baseRows.ts'
import { startService } from '../service/start.ts'

const CHANGED = 40
const TABLE_ROWS = 20_000
/** Short, so that each run reads the rows of one change only. */
const SHORT = { overlap: '1s', settle: '1s' }
/** The service's clock has whole seconds. */
const NEXT_SECOND_MS = 2_100
const TICK_GOAL_MS = 150

interface Ticks {
  readonly changed: readonly Done[]
  readonly quiet: readonly Done[]
}

async function measureTicks(flavour: Flavour, rounds: number): Promise<Ticks> {
  await using service = await startService(flavour, TABLE_ROWS)
  await using tide = await startTide({ url: service.url, ...SHORT })
  const sync = () => tide.order({ do: 'sync', reports: ['events'] })
  await sync()
  await tide.order({ do: 'checkpoint' })
  const ticks = { changed: [] as Done[], quiet: [] as Done[] }
  for (let n = -1; n < rounds; n += 1) {
    await sleep(NEXT_SECOND_MS)
    await service.change(CHANGED)
    await sleep(NEXT_SECOND_MS)
    const changed = await sync()
    await sleep(NEXT_SECOND_MS)
    const quiet = await sync()
    // The first round fills caches.
    if (n >= 0) {
      ticks.changed.push(changed)
      ticks.quiet.push(quiet)
    }
  }
  return ticks
}

function figures(done: readonly Done[]): string {
  const statements = median(done.map((each) => each.statements))
  const cpuMs = median(done.map((each) => each.cpuMs))
  return `${statements} statements, processor time ${formatted(cpuMs, 0)} ms`
}

function tickLines(what: string, { changed, quiet }: Ticks): Line[] {
  const p50 = median(changed.map(({ ms }) => ms))
  const quietMs = median(quiet.map(({ ms }) => ms))
  return [
    {
      what: `a tick of ${CHANGED} changed rows ${what} into ${TABLE_ROWS}, p50 of ${changed.length}`,
      measured: `${formatted(p50, 0)} ms`,
      goal: `≤ ${TICK_GOAL_MS} ms`,
      isMet: p50 <= TICK_GOAL_MS,
      detail: figures(changed),
    },
    {
      what: 'the next tick, which finds no change',
      measured: `${formatted(quietMs, 0)} ms`,
      goal: '–',
      isMet: undefined,
      detail: figures(quiet),
    },
  ]
}

async function run({ rounds }: Options): Promise<Line[]> {
  const count = Math.max(11, rounds)
  return [
    ...tickLines('with two collections', await measureTicks('two', count)),
    ...tickLines('with nine collections', await measureTicks('nine', count)),
  ]
}

export const ticksSuite: Suite = { name: 'ticks', about: 'the time of one tick', run }
