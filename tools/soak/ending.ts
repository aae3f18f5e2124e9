/** The end of a soak: every report runs twice more, then every promise is checked. */
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { reportNames } from '../../schema/index.ts'
import { systemClock as clock } from '../../src/clock.ts'
import { WORLD_REPORTS } from '../../src/sandbox/server.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { isAlive } from '../../test/cli/support.ts'
import { differences } from '../../src/cli/certify/compare.ts'
import { memoryOf } from './memory.ts'
import { type Soak, TOKEN_SECONDS, TOKENS_A_MINUTE, WATCH_MS } from './parts.ts'
import type { SoakEnded } from './summary.ts'
import type { Witness } from './witness.ts'

const PRICED: readonly string[] = ['budgets', 'automated_bookings']

/** The limit for all owners together, and for all pullers together. */
const GROWTH_MB_A_MINUTE_MAX = 12
const SHORT_SECONDS = 300

export async function settled(parts: Soak): Promise<SoakEnded> {
  const { options, witness, workers, notes, world } = parts
  options.tell('the changes have stopped')
  const over = new AbortController()
  const watching = watchRequests(witness, over.signal)
  await twoMoreRuns(parts)
  over.abort()
  await watching
  await witness.readMarks()
  const codes = await workers.stop()
  if (codes.some((code) => code !== 0)) witness.broken.push(`workers ended with ${codes.join(', ')}`)
  const held = await compareTables(parts)
  await checkNoFileIsLeft(parts)
  const tokenBudget = allowedTokenRequests(options.seconds)
  if (witness.tokenCalls.length > tokenBudget) witness.broken.push(`${witness.tokenCalls.length} token calls`)
  if (witness.tokenCallsInAMinute > TOKENS_A_MINUTE) witness.broken.push('more token calls in a minute than allowed')
  const memory = (['owner', 'puller'] as const).map((role) => memoryOf(workers.memory, role))
  for (const { role, mbPerMinute } of memory) {
    // In a short soak, processes still fill their caches.
    if (options.seconds >= SHORT_SECONDS && mbPerMinute > GROWTH_MB_A_MINUTE_MAX)
      witness.broken.push(`the memory of ${role}s grows by ${mbPerMinute.toFixed(1)} MB a minute`)
  }
  return {
    seconds: options.seconds,
    changes: notes.changes,
    kills: workers.kills,
    frozen: notes.frozen,
    requests: world.sandbox.requests.total,
    walks: witness.walks,
    ...held,
    tokenCalls: witness.tokenCalls.length,
    tokenCallsInAMinute: witness.tokenCallsInAMinute,
    tokenBudget,
    marksSeen: witness.marksSeen,
    memory,
    trouble: [...workers.trouble].toSorted(([, a], [, b]) => b - a).slice(0, 12),
    broken: witness.broken,
  }
}

/** The service keeps only its newest requests. */
async function watchRequests(witness: Witness, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    witness.readRequests()
    await clock.sleep(WATCH_MS)
  }
  witness.readRequests()
}

/** A token is renewed early, so this allows one request per half lifetime. */
const allowedTokenRequests = (seconds: number): number => Math.ceil((seconds + 120) / (TOKEN_SECONDS / 2)) + 2

/** Only two reconciles find rows that were deleted without a flag. */
async function twoMoreRuns({ world, witness }: Soak): Promise<void> {
  const commands = [['sync'], ['sync'], ...['', ''].map(() => ['reconcile', '--allow-mass-delete'])]
  for (const command of commands) {
    // The log does not distinguish a reconcile's requests from those of incremental runs.
    if (command[0] === 'reconcile') witness.endWalks()
    const { code, stdout, stderr } = await world.run(...command)
    if (code !== 0) witness.broken.push(`${command.join(' ')} ended with ${code}: ${stdout}${stderr.slice(-2_000)}`)
  }
}

async function compareTables({ world, witness }: Soak) {
  await using warehouse = await Warehouse.open({ path: join(world.folder, 'data/warehouse.duckdb'), memory: '512MB' })
  for (const report of WORLD_REPORTS) {
    const subject = PRICED.includes(report) ? ({ report, currency: 'EUR' } as const) : { report }
    witness.broken.push(...(await differences(warehouse, world.sandbox.world, subject)))
  }
  const overlaps = await warehouse.rows<{ text: string }>(
    `SELECT a.kind || ' ' || a.report || ' ' || a.run_id || ' beside ' || b.run_id AS text
     FROM tidemark.runs a JOIN tidemark.runs b ON a.report = b.report AND a.kind = b.kind AND a.run_id < b.run_id
     WHERE a.started_at < b.ended_at AND b.started_at < a.ended_at AND a.kind <> 'backfill'`,
  )
  witness.broken.push(...overlaps.map(({ text }) => `the books hold ${text}`))
  const runs = await warehouse.rows<{ name: string; n: number }>(
    `SELECT kind || ' ' || state AS name, count(*)::INTEGER AS n FROM tidemark.runs GROUP BY ALL ORDER BY 1`,
  )
  const [windows] = await warehouse.rows<{ n: number }>(
    `SELECT count(*)::INTEGER AS n FROM tidemark.backfill_windows WHERE state = 'done'`,
  )
  let rows = 0
  for (const report of reportNames) {
    const [counted] = await warehouse.rows<{ n: number }>(`SELECT count(*)::INTEGER AS n FROM main.${report}`)
    rows += counted?.n ?? 0
  }
  return { runs: Object.fromEntries(runs.map(({ name, n }) => [name, n])), windowsBackfilled: windows?.n ?? 0, rows }
}

/** Staged rows of killed processes are removed only after 15 minutes. */
async function checkNoFileIsLeft({ world, witness, workers, options }: Soak): Promise<void> {
  const data = join(world.folder, 'data')
  const staging = join(data, 'warehouse.duckdb.staging')
  const left = await readdir(staging, { recursive: true }).catch((): string[] => [])
  const anHourAgo = Date.now() / 1_000 - 3_600
  for (const name of left.toReversed()) await utimes(join(staging, name), anHourAgo, anHourAgo)
  const next = world.start(['worker', '--roles', 'load'], { isTied: true })
  workers.pids.push(next.pid)
  while (!next.said().includes('this process owns the warehouse')) await clock.sleep(100)
  next.kill('SIGTERM')
  await next.ended
  const staged = await readdir(staging).catch((): string[] => [])
  options.tell(`${left.length} staged files of killed processes, ${staged.length} after the next start`)
  const files = (await readdir(data)).filter((name) => !EXPECTED.includes(name))
  for (const name of [...staged, ...files]) witness.broken.push(`left over: ${name}`)
  for (const pid of workers.pids) if (isAlive(pid)) witness.broken.push(`process ${pid} is left over`)
}

const EXPECTED = [
  'warehouse.duckdb',
  'published.duckdb',
  // The copy that the next publication patches.
  '.published.duckdb.retired',
  'warehouse.duckdb.staging',
  'warehouse.duckdb.logs',
]
