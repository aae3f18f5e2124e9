/**
 * Compares Tidemark with other programs on the same service and rows. At the end, compares each copy with the service.
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
const LATENCY_MS = 150
/** These syncs mostly wait: with latency, and while rows change. */
const WAITING_ROWS_MAX = 20_000
const DRIFT_A_SECOND = 50
/** The service's clock has whole seconds. */
const SETTLED_MS = 2_100

/** Goals against dlt with Parquet files: how many times as fast, and the share of its memory. */
const GOALS = { first: 10, incremental: 5, memory: 0.7 }

interface Sync extends PeerRun {
  readonly rows: number
  readonly requests?: number
}

interface Measured {
  readonly name: string
  readonly first: Sync
  readonly incremental: Sync
  readonly slow: Sync
  readonly drifting: Sync
  readonly wrong: Differences
  readonly wrongAfterDrift: Differences
}

async function measure(peer: Peer, rowsWanted: number): Promise<Measured> {
  const rows = Math.min(rowsWanted, peer.rowsMax ?? rowsWanted)
  const waitingRows = Math.min(rows, WAITING_ROWS_MAX)
  return {
    name: peer.name,
    ...(await quiet(peer, rows)),
    slow: await waiting(peer, waitingRows),
    ...(await drifting(peer, waitingRows)),
  }
}

async function quiet(peer: Peer, rows: number): Promise<Pick<Measured, 'first' | 'incremental' | 'wrong'>> {
  await using service = await startService('two', rows)
  return await inFolder(async (folder) => {
    await using runner = await peer.open(service.url, folder)
    const counted = async (changed: number) => {
      const before = (await service.counters()).requests
      const run = await runner.sync()
      return { ...run, rows: changed, requests: (await service.counters()).requests - before }
    }
    const first = await counted(rows)
    await service.change(Math.round(rows * CHANGED_SHARE))
    await sleep(SETTLED_MS)
    const incremental = await counted(rows * CHANGED_SHARE)
    return { first, incremental, wrong: differences(await shown(service.url), await runner.held()) }
  })
}

async function waiting(peer: Peer, rows: number): Promise<Sync> {
  await using service = await startService('two', rows, LATENCY_MS)
  return await inFolder(async (folder) => {
    await using runner = await peer.open(service.url, folder)
    const run = await runner.sync()
    return { ...run, rows, requests: (await service.counters()).requests }
  })
}

/** Runs the program while rows change, then once more without changes. */
async function drifting(peer: Peer, rows: number): Promise<Pick<Measured, 'drifting' | 'wrongAfterDrift'>> {
  await using sandbox = await startSandbox({ rows, changesPerSecond: DRIFT_A_SECOND })
  return await inFolder(async (folder) => {
    await using runner = await peer.open(sandbox.url, folder)
    const run = await runner.sync()
    sandbox.setChangesPerSecond(0)
    await sleep(SETTLED_MS)
    await runner.sync()
    const wrongAfterDrift = differences(await shown(sandbox.url), await runner.held())
    return { drifting: { ...run, rows }, wrongAfterDrift }
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

const rowsASecond = ({ rows, ms }: Sync): number => (rows / ms) * 1_000

function syncLine(what: string, sync: Sync): Line {
  const requests = sync.requests === undefined ? '' : `, ${sync.requests} requests`
  const detail = `${sync.rows} rows: ${formatted(sync.ms / 1_000, 1)} s, ${formatted(sync.peakMb, 0)} MB${requests}`
  return { what, measured: `${Math.round(rowsASecond(sync))} rows/s`, goal: '–', isMet: undefined, detail }
}

function linesOf({ name, first, incremental, slow, drifting: drift, wrong, wrongAfterDrift }: Measured): Line[] {
  return [
    syncLine(`${name}: first sync`, first),
    syncLine(`${name}: 1 % changed`, incremental),
    syncLine(`${name}: first sync, ${LATENCY_MS} ms a response`, slow),
    syncLine(`${name}: first sync, ${DRIFT_A_SECOND} changes a second`, drift),
    {
      what: `${name}: against the service at the end`,
      measured: wrongText(wrongAfterDrift),
      goal: 'equal',
      isMet: wrongText(wrongAfterDrift) === 'equal' && wrongText(wrong) === 'equal',
      detail: `${DRIFT_A_SECOND} changes a second during the first sync; without changes: ${wrongText(wrong)}`,
    },
  ]
}

/** Only dlt with Parquet files has goals. */
function against(ours: Measured, theirs: Measured): Line[] {
  const isGoal = theirs.name === 'dlt'
  const faster = (what: string, key: 'first' | 'incremental' | 'slow' | 'drifting', goal?: number): Line => {
    const times = rowsASecond(ours[key]) / rowsASecond(theirs[key])
    const hasGoal = isGoal && goal !== undefined
    const detail =
      theirs[key].rows === ours[key].rows ? '' : `it read ${theirs[key].rows} rows, Tidemark ${ours[key].rows}`
    return {
      what: `${what}: rows/s, tidemark ÷ ${theirs.name}`,
      measured: formatted(times, 1),
      goal: hasGoal ? `≥ ${goal}` : '–',
      isMet: hasGoal ? times >= goal : undefined,
      detail,
    }
  }
  const share = ours.first.peakMb / theirs.first.peakMb
  return [
    faster('first sync', 'first', GOALS.first),
    faster('1 % changed', 'incremental', GOALS.incremental),
    faster(`${LATENCY_MS} ms a response`, 'slow'),
    faster(`${DRIFT_A_SECOND} changes a second`, 'drifting'),
    {
      what: `first sync: memory, tidemark ÷ ${theirs.name}`,
      measured: formatted(share),
      goal: isGoal ? `≤ ${GOALS.memory}` : '–',
      isMet: isGoal ? share <= GOALS.memory : undefined,
      detail: `of the incremental sync: ${formatted(ours.incremental.peakMb / theirs.incremental.peakMb)}`,
    },
  ]
}

async function run({ rows }: Options): Promise<Line[]> {
  const lines: Line[] = []
  const measured: Measured[] = []
  for (const peer of peers) {
    const missing = await peer.prepare()
    if (missing !== undefined) {
      lines.push({ what: peer.name, measured: '–', goal: '–', isMet: undefined, detail: `not run: ${missing}` })
      continue
    }
    const one = await measure(peer, rows)
    measured.push(one)
    lines.push(...linesOf(one))
  }
  const [ours, ...others] = measured
  return [...lines, ...(ours === undefined ? [] : others.flatMap((other) => against(ours, other)))]
}

export const peersSuite: Suite = { name: 'peers', about: 'the same service, rows and machine, in one run', run }
