/**
 * Compares Tidemark with other programs on the same service and rows. Measures a first sync of events with two
 * collections, and an incremental sync after 1 % of the rows has changed. Repeats both while rows change all the time.
 * At the end, compares each copy with the service.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSandbox } from '../../src/sandbox/server.ts'
import type { Line, Options, Suite } from '../measure.ts'
import { formatted } from '../measure.ts'
import { differences, type Differences, shown } from '../peers/compare.ts'
import { type Peer, peers, type PeerRun } from '../peers/peers.ts'
import { startService } from '../service/start.ts'

const CHANGED_SHARE = 0.01
const DRIFT_ROWS_MAX = 20_000
const DRIFT_A_SECOND = 50
/** Milliseconds to wait after the last change, so that the service's clock (whole seconds) is later than it. */
const SETTLED_MS = 2_100

interface Measured {
  readonly name: string
  readonly first: PeerRun & { readonly requests: number }
  readonly next: PeerRun & { readonly requests: number }
  readonly wrong: Differences
}

async function quiet(peer: Peer, rows: number): Promise<Measured> {
  await using service = await startService('two', rows)
  return await inFolder(async (folder) => {
    await using runner = await peer.open(service.url, folder)
    const counted = async () => {
      const before = (await service.counters()).requests
      const run = await runner.sync()
      return { ...run, requests: (await service.counters()).requests - before }
    }
    const first = await counted()
    await service.change(Math.round(rows * CHANGED_SHARE))
    await sleep(SETTLED_MS)
    const next = await counted()
    return { name: peer.name, first, next, wrong: differences(await shown(service.url), await runner.held()) }
  })
}

/** Runs the program while rows change, then once more without changes, so that it can find rows that it missed. */
async function drifting(peer: Peer, rows: number): Promise<Differences> {
  await using sandbox = await startSandbox({ rows, changesPerSecond: DRIFT_A_SECOND })
  return await inFolder(async (folder) => {
    await using runner = await peer.open(sandbox.url, folder)
    await runner.sync()
    sandbox.setChangesPerSecond(0)
    await sleep(SETTLED_MS)
    await runner.sync()
    return differences(await shown(sandbox.url), await runner.held())
  })
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-peer-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const wrongText = ({ lost, stale, doubled, extra }: Differences): string =>
  lost + stale + doubled + extra === 0 ? 'equal' : `${lost} lost, ${stale} stale, ${doubled} doubled, ${extra} extra`

function runLine(what: string, rows: number, run: Measured['first']): Line {
  const rate = `${Math.round((rows / run.ms) * 1_000)} rows/s`
  const detail = `${formatted(run.ms / 1_000, 1)} s, ${formatted(run.peakMb, 0)} MB, ${run.requests} requests`
  return { what, measured: rate, goal: '–', isMet: undefined, detail }
}

function against(ours: Measured, { name, first, next }: Measured): Line[] {
  const ratio = (what: string, mine: PeerRun, theirs: PeerRun): Line => {
    const times = theirs.ms / mine.ms
    const goal = name === 'dlt' ? '≥ 20' : '–'
    const detail = `memory ${formatted(mine.peakMb / theirs.peakMb)} of theirs`
    return { what: `${what}: ${name} ÷ tidemark`, measured: formatted(times, 1), goal, isMet: met(name, times), detail }
  }
  return [ratio('first sync', ours.first, first), ratio('incremental', ours.next, next)]
}

const met = (name: string, times: number): boolean | undefined => (name === 'dlt' ? times >= 20 : undefined)

async function run({ rows }: Options): Promise<Line[]> {
  const lines: Line[] = []
  const measured: Measured[] = []
  const driftRows = Math.min(rows, DRIFT_ROWS_MAX)
  for (const peer of peers) {
    const missing = await peer.prepare()
    if (missing !== undefined) {
      lines.push({ what: peer.name, measured: '–', goal: '–', isMet: undefined, detail: `not run: ${missing}` })
      continue
    }
    const one = await quiet(peer, rows)
    measured.push(one)
    lines.push(runLine(`${peer.name}: first sync of ${rows} events`, rows, one.first))
    lines.push(runLine(`${peer.name}: 1 % changed`, rows * CHANGED_SHARE, one.next))
    const wrong = await drifting(peer, driftRows)
    lines.push({
      what: `${peer.name}: against the service at the end`,
      measured: wrongText(wrong),
      goal: 'equal',
      isMet: wrongText(wrong) === 'equal' && wrongText(one.wrong) === 'equal',
      detail: `${driftRows} rows, ${DRIFT_A_SECOND} changes a second during the first sync; without changes: ${wrongText(one.wrong)}`,
    })
  }
  const [ours, ...others] = measured
  return [...lines, ...(ours === undefined ? [] : others.flatMap((other) => against(ours, other)))]
}

export const peersSuite: Suite = { name: 'peers', about: 'the same service, rows and machine, in one run', run }
