/** Compares a first sync with the least possible cost: a download of the pages, then DuckDB's load of the rows. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Line, medians, type Options, type Suite, formatted } from '../measure.ts'
import type { FloorDone } from '../programs/floor.ts'
import { startTide } from '../programs/start.ts'
import type { Flavour } from '../service/baseRows.ts'
import { startService } from '../service/start.ts'

const PROGRAM = fileURLToPath(new URL('../programs/floor.ts', import.meta.url))

async function floor(...words: string[]): Promise<FloorDone> {
  const child = fork(PROGRAM, words, { env: { ...process.env, UV_THREADPOOL_SIZE: '16' } })
  const [done] = (await once(child, 'message')) as [FloorDone]
  return done
}

interface Case {
  readonly flavour: Flavour
  readonly goal: number
  readonly what: string
}

const CASES: readonly Case[] = [
  { flavour: 'none', goal: 1.5, what: 'first sync without collections ÷ floor' },
  { flavour: 'nine', goal: 2, what: 'first sync with nine collections ÷ floor that unnests them' },
]

async function round(url: string, { flavour, folder, rows }: { flavour: Flavour; folder: string; rows: number }) {
  const download = await floor('download', url, String(rows))
  const create = await floor(flavour === 'nine' ? 'create-all' : 'create', folder)
  await using tide = await startTide({ url, ...(flavour === 'none' ? { expand: [] } : {}) })
  const sync = await tide.order({ do: 'sync', reports: ['events'] })
  return {
    floorMs: download.ms + create.ms,
    floorCpuMs: download.cpuMs + create.cpuMs,
    ms: sync.ms,
    cpuMs: sync.cpuMs,
    peakMb: sync.peakMb,
    floorPeakMb: create.peakMb,
    loopDelayMsP99: sync.loopDelayMsP99,
    loopDelayMsMax: sync.loopDelayMsMax,
    ownTurnMsP99: sync.ownTurnMsP99,
    ownTurnMsMax: sync.ownTurnMsMax,
  }
}

async function measure({ flavour, goal, what }: Case, { rows, rounds }: Options): Promise<Line[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'))
  await using service = await startService(flavour, rows)
  try {
    await floor('fill', service.url, String(rows), join(folder, 'rows.ndjson'))
    const all = []
    for (let n = 0; n < rounds; n += 1) all.push(await round(service.url, { flavour, folder, rows }))
    const m = medians(all)
    const ratio = m.ms / m.floorMs
    const cpuRatio = m.cpuMs / m.floorCpuMs
    const rate = Math.round((rows / m.ms) * 1_000)
    return [
      {
        what,
        measured: formatted(ratio),
        goal: `≤ ${goal}`,
        isMet: ratio <= goal,
        detail: `${formatted(m.ms / 1_000, 1)} s against ${formatted(m.floorMs / 1_000, 1)} s, ${rate} rows/s; processor time ${formatted(cpuRatio)} (${formatted(m.cpuMs / 1_000, 1)} s against ${formatted(m.floorCpuMs / 1_000, 1)} s); peak ${formatted(m.peakMb, 0)} MB against ${formatted(m.floorPeakMb, 0)} MB`,
      },
      {
        what: `event-loop delay in that sync, p99 (${flavour === 'none' ? 'without' : 'with'} collections)`,
        measured: `${formatted(m.loopDelayMsP99, 0)} ms`,
        goal: '≤ 50 ms',
        isMet: m.loopDelayMsP99 <= 50,
        detail: `longest ${formatted(m.loopDelayMsMax, 0)} ms; of it this thread's own work: p99 ${formatted(m.ownTurnMsP99, 0)} ms, longest ${formatted(m.ownTurnMsMax, 0)} ms`,
      },
    ]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export const floorSuite: Suite = {
  name: 'floor',
  about: 'first sync against the physical floor',
  run: each,
}

async function each(options: Options): Promise<Line[]> {
  const lines: Line[] = []
  for (const one of CASES) lines.push(...(await measure(one, options)))
  return lines
}
