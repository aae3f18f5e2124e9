/**
 * A soak: workers on one Redis and one service are killed, frozen and restarted while rows change. At the end, all
 * promises are checked.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator'
import { systemClock as clock } from '../../src/clock.ts'
import { aWorld } from '../../test/cli/support.ts'
import { startRedis } from '../../test/support/redisServer.ts'
import { settled } from './ending.ts'
import { type Soak, type SoakOptions, TOKEN_SECONDS, TOKENS_A_MINUTE, WATCH_MS } from './parts.ts'
import type { SoakEnded } from './summary.ts'
import { Witness } from './witness.ts'
import { Workers } from './workers.ts'

const SETTINGS = {
  defaults: { every: '2s', reconcile_every: 'never', overlap: '20s', settle: '2s', page_size: 200 },
  limits: { warehouse_memory: '200MB' },
}
const AOF = ['--appendonly', 'yes', '--maxmemory-policy', 'noeviction']

export async function soak(options: SoakOptions): Promise<SoakEnded> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-soak-'))
  const redis = await startRedis({ settings: [...AOF, '--dir', folder] })
  const sandbox = { rows: 500, tokenLifetimeSeconds: TOKEN_SECONDS, tokenRequestsPerMinute: TOKENS_A_MINUTE }
  await using world = await aWorld({ sandbox, settings: { ...SETTINGS, ...AUDITED, queue: redis.url } })
  const lock = options.lockMs === undefined ? [] : ['--lock', String(options.lockMs)]
  const workers = new Workers(world, lock)
  const witness = new Witness(world.sandbox, join(world.folder, 'data/published.duckdb'))
  const parts: Soak = { options, world, redis, workers, witness, notes: { frozen: 'nobody', changes: 0, backfills: 0 } }
  try {
    await runUnderLoad(parts)
    return await settled(parts)
  } finally {
    workers.abandon()
    await redis.stop()
    await rm(folder, { recursive: true })
  }
}

const AUDITED = {
  currencies: ['EUR'],
  reports: { audit_entries: { enabled: false } },
}

async function runUnderLoad(parts: Soak): Promise<void> {
  const { options, world, workers, notes } = parts
  for (let started = 0; started < options.workers; started += 1) workers.start()
  while (!workers.owned) await clock.sleep(100)
  options.tell('the workers run')
  world.sandbox.setChangesPerSecond(options.changesPerSecond)
  const over = new AbortController()
  const doing = [watch(parts, over.signal), runBackfills(parts, over.signal), causeFailures(parts)]
  await clock.sleep(options.seconds * 1_000)
  over.abort()
  world.sandbox.setChangesPerSecond(0)
  notes.changes = options.seconds * options.changesPerSecond
  await Promise.all(doing)
}

const WATCHES_PER_SAMPLE = 4

async function watch({ witness, workers }: Soak, signal: AbortSignal): Promise<void> {
  for (let looks = 0; !signal.aborted; looks += 1) {
    witness.readRequests()
    if (looks % WATCHES_PER_SAMPLE === 0) await Promise.all([workers.sample(), witness.readMarks()])
    await clock.sleep(WATCH_MS)
  }
}

/** If a command's worker is killed, the next command continues the backfill. */
async function runBackfills({ world, notes }: Soak, signal: AbortSignal): Promise<void> {
  const range = ['--from', '2000-01-01', '--to', '2026-01-01']
  while (!signal.aborted) {
    const { code } = await world.run('backfill', 'events', 'enquiries', ...range, '--quiet')
    if (code === 0) notes.backfills += 1
    await clock.sleep(1_000)
  }
}

/** Half of the victims are the owner, because its death is the hardest case. */
function pickVictim(workers: Workers, random: RandomGenerator): number {
  const { awake } = workers
  const owner = awake.find((place) => workers.isOwner(place))
  if (owner !== undefined && uniformInt(random, 0, 1) === 0) return owner
  return awake[uniformInt(random, 0, awake.length - 1)] ?? 0
}

/** Freezes a worker after a third of the kills, and restarts Redis after two thirds. */
async function causeFailures({ options, redis, workers, notes }: Soak): Promise<void> {
  const { killEverySeconds, freezeSeconds, seconds, seed, tell } = options
  const random = xoroshiro128plus(seed)
  const kills = Math.max(2, Math.floor(seconds / killEverySeconds) - 1)
  let freezing: Promise<void> = Promise.resolve()
  for (let kill = 1; kill <= kills; kill += 1) {
    await clock.sleep(killEverySeconds * 1_000)
    const place = pickVictim(workers, random)
    if (kill === Math.ceil(kills / 3)) {
      const who = workers.isOwner(place) ? 'the owner' : 'a puller'
      tell(`${who} is frozen`)
      notes.frozen = `${who}, for ${freezeSeconds} s`
      freezing = workers.freeze(place, freezeSeconds * 1_000)
    } else {
      tell(`kill -9 of ${workers.isOwner(place) ? 'the owner' : 'a puller'}`)
      await workers.kill(place)
    }
    if (kill !== Math.ceil((kills * 2) / 3)) continue
    tell('Redis is restarted')
    await redis.restart()
  }
  await freezing
}
