/** What the published copy costs after a small change, by the size of the file; and when nothing has changed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Line, median, type Options, type Suite, told } from '../measure.ts'
import { startTide } from '../programs/start.ts'
import { startService } from '../service/start.ts'

async function publishing(rows: number, rounds: number) {
  await using service = await startService('nine', rows)
  await using tide = await startTide({ url: service.url })
  await tide.order({ do: 'sync', reports: ['events'] })
  const changed: number[] = []
  const unchanged: number[] = []
  let fileMb = 0
  for (let n = 0; n < rounds; n += 1) {
    await service.change(100)
    await sleep(1_100)
    fileMb = (await tide.order({ do: 'sync', reports: ['events'] })).fileMb
    changed.push((await tide.order({ do: 'publish' })).ms)
    unchanged.push((await tide.order({ do: 'publish' })).ms)
  }
  return { fileMb, changedMs: median(changed), unchangedMs: median(unchanged) }
}

async function run({ rows, rounds }: Options): Promise<Line[]> {
  const lines: Line[] = []
  for (const some of [Math.round(rows / 10), rows]) {
    const { fileMb, changedMs, unchangedMs } = await publishing(some, rounds)
    lines.push({
      what: `publishing a file of ${told(fileMb, 0)} MB after a small change`,
      measured: `${told(changedMs, 0)} ms`,
      goal: '–',
      isMet: undefined,
      detail: `${told((fileMb / changedMs) * 1_000, 0)} MB/s; without a change ${told(unchangedMs, 0)} ms`,
    })
  }
  return lines
}

export const publishingSuite: Suite = { name: 'publishing', about: 'the cost of the copy that readers open', run }
