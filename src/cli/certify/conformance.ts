/** Tests a declaration against a sandbox that serves generated rows. Returns a finding for each claim. */
import { randomUUID } from 'node:crypto'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type ReportName, reportOf, reports } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import { systemClock } from '../../clock.ts'
import { loadConfig } from '../../config/config.ts'
import { asSyncError, type ErrorCode } from '../../errors.ts'
import { MINUTE_MS, plusMs } from '../../instant.ts'
import { createLog } from '../../log.ts'
import { type Sandbox, startSandbox, type WorldReport } from '../../sandbox/server.ts'
import { scopesOf, type SyncContext } from '../../sync/context.ts'
import { reconcileRun } from '../../sync/reconcile.ts'
import type { Figures } from '../../sync/reportOutcome.ts'
import { syncAll } from '../../sync/syncAll.ts'
import { openContext } from '../../wiring/openContext.ts'
import { counted } from '../../words.ts'
import { type Finding, hasFailed, ok, skip } from '../check/finding.ts'
import { differences } from './compare.ts'

/** The number of generated rows. They take three pages, so that each read also tests paging. */
const ROWS = 60
const SETTINGS = { TIDEMARK_PAGE_SIZE: '25', TIDEMARK_CURRENCIES: 'EUR,USD' }

/** Faults of the sandbox. After a read with each fault, the table must contain the sandbox's rows. */
const FAULTS: readonly (readonly [fault: string, claim: string])[] = [
  ['5xx*2', 'survives errors of the server (503)'],
  ['429*1:1', 'survives a request to wait (429)'],
  ['slow*4:100', 'survives slow answers'],
  ['empty-body*1', 'survives an empty answer'],
  ['truncate*1', 'survives an answer that was cut'],
  ['clamp:9', 'survives pages that are shorter than requested'],
  ['unordered', 'survives rows in another order at each request'],
  ['drift*3:1', 'survives rows that move to other pages while they are read'],
]
const MOVES_ROWS = new Set(['unordered', 'drift*3:1'])

interface Bench {
  readonly context: SyncContext
  readonly sandbox: Sandbox
  readonly report: ReportName & WorldReport
  readonly clock: ReturnType<typeof forwardClock>
}

/** A claim, its test, and what to do if it fails. The test returns a problem, or undefined if the claim is true. */
type Claim = readonly [claim: string, test: (bench: Bench) => Promise<string | undefined>, cure: string]

/** Returns a finding for each claim, such as `survives slow answers`. */
export async function conformanceOf(name: ReportName, signal: AbortSignal, served: readonly Declaration[] = reports) {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), 'tidemark-certify-'))
  const clock = forwardClock()
  await using sandbox = await startSandbox({ rows: ROWS, declared: served, amounts: 'cents', clock })
  const config = await loadConfig({ cwd: folder.path, env: { ...sandbox.env, ...SETTINGS } })
  await using opened = await openContext(config, { clock, signal, log: createLog({ level: 'silent' }) })
  const bench: Bench = { context: opened.context, sandbox, report: name as Bench['report'], clock }
  const findings: Finding[] = []
  for (const claim of claimsOf(reportOf(name))) {
    const isOver = hasFailed(findings)
    findings.push(isOver ? skip(claim[0], 'not tried, because of the claim above') : await findingOf(bench, claim))
    signal.throwIfAborted()
  }
  return findings
}

async function findingOf(bench: Bench, [check, test, cure]: Claim): Promise<Finding> {
  try {
    const found = await test(bench)
    if (found === NO_DELETIONS) return skip(check, found)
    return found === undefined ? ok(check, '') : { check, verdict: 'fail', found, cure }
  } catch (thrown) {
    bench.context.signal.throwIfAborted()
    const { code, message: found, cure: own } = asSyncError(thrown)
    return { check, verdict: 'fail', found, code, cure: NO_ERRORS_OF_CLAIMS.includes(code) ? own : cure }
  }
}

/** Errors that the declaration does not cause, so their own advice is shown instead of advice about the declaration. */
const NO_ERRORS_OF_CLAIMS: readonly ErrorCode[] = ['DISK_FULL', 'FILES_EXHAUSTED', 'WAREHOUSE_MEMORY', 'UNEXPECTED']

const NO_DELETIONS = 'the declaration has no deletions (deletes: none)'

function claimsOf({ deletes, created, window }: Declaration): readonly Claim[] {
  const inRead = 'Compare path, pages, window, fields, key and expand of the declaration with an answer of the service.'
  const isUnbounded = created === undefined && !window.required
  return [
    ['each row arrives once, with its fields and collections', firstRead, inRead],
    ['the same window again rewrites nothing', secondRead, 'Look at key and newerBy: equal rows count as new ones.'],
    ['edits, new rows and changed collections arrive', afterChanges, 'Look at newerBy, window and expand.'],
    [`a deletion is seen (${deletes})`, afterDeletion, 'Look at deletes, deletedFlag and includeDeleted.'],
    ...FAULTS.map(([fault, claim]): Claim => {
      const cure = isUnbounded && MOVES_ROWS.has(fault) ? ADD_CREATED : REPORT_IT
      return [claim, (bench) => duringFault(bench, fault), cure]
    }),
  ]
}

const REPORT_IT = 'Please report it: no fault should lose a row.'
const ADD_CREATED =
  'If the service can filter by creation time, add created to the declaration. Otherwise all rows must be on one page, or the service must keep their order: without created, the first run has no bounds that could be cut into smaller pages.'

async function firstRead(bench: Bench): Promise<string | undefined> {
  const { rejected } = await sync(bench)
  if (rejected === 0) return difference(bench)
  const [first] = await bench.context.warehouse.rows<{ reason: string }>('SELECT reason FROM tidemark.rejected_rows')
  return `${counted(rejected, 'row')} could not be stored: ${first?.reason}`
}

async function secondRead(bench: Bench): Promise<string | undefined> {
  const { inserted, updated, deleted, childrenWritten } = await syncAllRows(bench)
  const written = inserted + updated + deleted + childrenWritten
  return written === 0 ? difference(bench) : `${counted(written, 'row')} written again`
}

async function afterChanges(bench: Bench): Promise<string | undefined> {
  const before = await newestStamp(bench)
  change(bench)
  await sync(bench)
  const [column] = reportOf(bench.report).newerBy
  const found = await difference(bench)
  if (found !== undefined || column === undefined || (await newestStamp(bench)) > before) return found
  return `${column} did not become newer after an edit`
}

async function newestStamp({ context, report }: Bench): Promise<number> {
  const [column = 'NULL'] = reportOf(report).newerBy
  const [newest] = await context.warehouse.rows<{ at: number }>(
    `SELECT coalesce(max(epoch_us(${column}::TIMESTAMPTZ)), 0) AS at FROM main."${report}"`,
  )
  return Number(newest?.at)
}

function change({ sandbox: { world }, report }: Bench): void {
  const [edited, child, removed, cleared, added] = world.liveKeys(report) as [number, number, number, number, number]
  world.edit(report, edited)
  if (Object.values(reportOf(report).expand).some((each) => each !== 'fields')) {
    world.editChild(report, child)
    world.removeChild(report, removed)
    world.clearChildren(report, cleared)
    world.addChild(report, added)
  }
  world.insert(report)
}

async function afterDeletion(bench: Bench): Promise<string | undefined> {
  const { context, sandbox, report } = bench
  const { deletes } = reportOf(report)
  if (deletes === 'none') return NO_DELETIONS
  const [key] = sandbox.world.liveKeys(report)
  sandbox.world.softDelete(report, key as number)
  if (deletes === 'absence') {
    await reconcile(bench)
    await reconcile(bench)
  } else await sync(bench)
  const [seen] = await context.warehouse.rows<{ evidence: string | null }>(
    `SELECT string_agg(DISTINCT _delete_evidence, ', ') AS evidence FROM main."${report}" WHERE is_deleted`,
  )
  const found = await difference(bench)
  return found ?? (seen?.evidence === deletes ? undefined : `the evidence is ${seen?.evidence ?? 'missing'}`)
}

async function reconcile({ context, report, clock }: Bench): Promise<void> {
  clock.pass(MINUTE_MS)
  const { outcome } = await reconcileRun(context, { report, runId: randomUUID(), allowMassDelete: false })
  if (outcome.error !== undefined) throw outcome.error
}

async function duringFault(bench: Bench, fault: string): Promise<string | undefined> {
  change(bench)
  bench.sandbox.setFaults([fault])
  await syncAllRows(bench).finally(() => bench.sandbox.setFaults([]))
  await sync(bench)
  return difference(bench)
}

async function syncAllRows(bench: Bench): Promise<Figures> {
  await bench.context.warehouse.rows('DELETE FROM tidemark.marks')
  return sync(bench)
}

async function sync({ context, report, clock }: Bench): Promise<Figures> {
  clock.pass(MINUTE_MS)
  const [outcome] = await syncAll(context, [report])
  if (outcome?.error !== undefined) throw outcome.error
  return outcome?.figures as Figures
}

async function difference({ context, sandbox, report }: Bench): Promise<string | undefined> {
  const scopes = scopesOf(context.settings, reportOf(report))
  const inScope = (scope: string) =>
    differences(context.warehouse, sandbox.world, { report, currency: scope === '' ? undefined : scope })
  const [first, ...others] = (await Promise.all(scopes.map(inScope))).flat()
  return others.length === 0 ? first : `${first}, and ${counted(others.length, 'more difference')}`
}

/** Returns a clock whose method `pass` moves the time forward, so that no test waits for minutes. */
function forwardClock() {
  let aheadMs = 0
  const now = () => plusMs(systemClock.now(), aheadMs)
  const monotonicMs = () => systemClock.monotonicMs() + aheadMs
  return { ...systemClock, now, monotonicMs, pass: (ms: number) => void (aheadMs += ms) }
}
