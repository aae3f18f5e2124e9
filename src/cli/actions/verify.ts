/** What `tidemark verify` does: a past window read again, compared with what readers have, and what to do about it. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type ReportName, reportOf } from '../../../schema/index.ts'
import type { Config } from '../../config/config.ts'
import { asSyncError, SyncError } from '../../errors.ts'
import { isThere } from '../../folders.ts'
import { formatInstant, type Instant } from '../../instant.ts'
import { type CompareAsk, type Verified, verifyReport } from '../../sync/verify.ts'
import { type Pause, pauses } from '../../warehouse/books/books.ts'
import { attachSql, compareWindow, type Deviation, READER_COPY } from '../../warehouse/publish/compareWindow.ts'
import { Warehouse } from '../../warehouse/warehouse.ts'
import { configOf } from '../configOf.ts'
import { type Column, grouped, line, table, timeText } from '../layout.ts'
import { openNewest } from '../../wiring/published.ts'
import { clientOf, settingsOf } from '../../wiring/openContext.ts'
import { type Loudness, voices } from '../voices.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { withoutSubject } from '../summary.ts'
import { wantedReports } from '../wanted.ts'

export interface VerifyOptions extends Loudness {
  readonly config?: string
  readonly from?: Instant
  readonly to?: Instant
}

interface Checked {
  readonly report: ReportName
  readonly scopes: readonly Verified[]
  readonly error?: SyncError
}

export async function verify(
  shell: Shell,
  names: readonly string[],
  { config: file, from, to, ...loudness }: VerifyOptions,
): Promise<ExitCode> {
  const config = await configOf(shell, file)
  const wanted = wantedReports(names, config).filter(
    (report) => names.length > 0 || (config.reports[report].enabled && reportOf(report).perRecord === undefined),
  )
  const { log, view } = voices(shell, loudness)
  using progress = view
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-verify-'))
  await using removing = new AsyncDisposableStack()
  removing.defer(() => rm(folder, { recursive: true, force: true }))
  const warehouse = removing.use(await scratchFor(config, folder))
  const client = removing.use(clientOf(config, { clock: shell.clock, log }))
  const settings = { ...settingsOf(config), staging: path.join(folder, 'staging') }
  const { clock, stop } = shell
  const context = {
    client,
    warehouse,
    clock,
    settings,
    signal: stop.signal,
    onProgress: progress.onProgress.bind(progress),
  }
  const held = await newestPauses(config)
  const checked: Checked[] = []
  for (const report of wanted) {
    stop.signal.throwIfAborted()
    const compare = (window: CompareAsk) => compareWindow(warehouse, { ...window, report: reportOf(report) })
    const markOf = (scope: string) => heldMark(warehouse, report, scope)
    const ask = { report, from, to, runId: randomUUID(), markOf, pauses: held, compare }
    const scopes = await verifyReport(context, ask).catch(asSyncError)
    stop.signal.throwIfAborted()
    checked.push(scopes instanceof SyncError ? { report, scopes: [], error: scopes } : { report, scopes })
  }
  progress[Symbol.dispose]()
  const code = exitCode(checked)
  if (loudness.json === true) shell.out.write(`${JSON.stringify(document(checked), undefined, 2)}\n`)
  else if (loudness.quiet !== true || code !== 0) shell.out.write(words(checked))
  return code
}

/** 1 says that something differs or could not be read: a window that can't be verified is neither. */
function exitCode(checked: readonly Checked[]): ExitCode {
  const errors = checked.flatMap(({ error }) => error ?? [])
  const differs = checked.some(({ scopes }) => !scopes.every(agrees))
  if (differs || errors.some(({ isUsage }) => !isUsage)) return 1
  return errors.length > 0 ? 2 : 0
}

/** A warehouse to read the window into, with the copy of the readers beside it. Error: WAREHOUSE_MISSING. */
async function scratchFor({ published, limits, lake }: Config, folder: string): Promise<Warehouse> {
  if (lake === undefined && !isThere(published)) {
    throw new SyncError('WAREHOUSE_MISSING', `there is no published copy ${published} to verify`, {
      cure: 'Run "tidemark sync" first.',
      data: { path: published },
    })
  }
  const settings = {
    path: path.join(folder, 'scratch.duckdb'),
    memory: limits.queryMemory,
    threads: limits.warehouseThreads,
  }
  const made = await Warehouse.open(settings)
  // Fingerprints of long numbers depend on the mark that they travel with.
  const attach = (warehouse: Warehouse) =>
    lake === undefined ? warehouse.rows(attachSql(published)) : warehouse.attachLake(lake, READER_COPY)
  await attach(made)
  await made.rows(`
    UPDATE tidemark.settings SET value = h.value FROM ${READER_COPY}.tidemark.settings h WHERE h.name = settings.name`)
  await made.close()
  const scratch = await Warehouse.open(settings)
  await attach(scratch)
  return scratch
}

/** From the warehouse where it can be opened: `check` resumes there, and publishes nothing. */
async function newestPauses(config: Config): Promise<readonly Pause[]> {
  const newest = await openNewest(config)
  await using database = newest?.database
  return database === undefined ? [] : pauses(database)
}

async function heldMark(warehouse: Warehouse, report: ReportName, scope: string): Promise<Instant | undefined> {
  const [row] = await warehouse.rows<{ mark: Instant }>(
    `SELECT epoch_us(value) AS mark FROM ${READER_COPY}.tidemark.marks WHERE report = '${report}' AND scope = '${scope}' AND mark = 'modified_since'`,
  )
  return row?.mark
}

const agrees = ({ missing, different, extra }: Verified): boolean => missing.rows + different.rows + extra.rows === 0

const COLUMNS: readonly Column[] = [
  { head: 'report' },
  { head: 'from' },
  { head: 'to' },
  ...['rows', 'missing', 'different', 'extra'].map((head): Column => ({ head, align: 'right' })),
]

function words(checked: readonly Checked[]): string {
  const scopes = checked.flatMap((each) => each.scopes)
  const rows = scopes.map((each) => [
    nameOf(each),
    timeText(each.since),
    timeText(each.until),
    ...[each.rows, each.missing.rows, each.different.rows].map(grouped),
    each.seesExtra ? grouped(each.extra.rows) : '–',
  ])
  const failures = checked.flatMap(({ report, error }) =>
    error === undefined
      ? []
      : [
          `${report}: ${line(withoutSubject(error.message, report))} (${error.code})\n  what to do: ${line(error.cure)}\n`,
        ],
  )
  const drawn = rows.length === 0 ? '' : table(COLUMNS, rows)
  return `${drawn}${[...scopes.flatMap(advice), ...failures].join('')}`
}

const nameOf = ({ report, scope }: Verified): string => (scope === '' ? report : `${report} ${scope}`)

function advice(verified: Verified): string[] {
  const { report, since, until, missing, different, extra } = verified
  const again = `tidemark backfill ${report} --from ${formatInstant(since)} --to ${formatInstant(until)}`
  const told = (what: string, { rows, keys }: Deviation, cure: string) =>
    rows === 0
      ? []
      : [
          `${nameOf(verified)}: ${grouped(rows)} ${what}: ${keys.join(', ')}${rows > keys.length ? ', …' : ''}\n  what to do: ${cure}\n`,
        ]
  return [
    ...told('missing', missing, `${again}; rows that could not be stored are in tidemark.rejected_rows`),
    ...told('different', different, again),
    ...told(
      'extra (held, and the service no longer shows them)',
      extra,
      `tidemark reconcile ${report}, which marks as deleted what is gone`,
    ),
  ]
}

const document = (checked: readonly Checked[]): object => ({
  reports: checked.map(({ report, scopes, error }) => ({
    report,
    windows: scopes.map(({ scope, since, until, pages, rows, missing, different, extra, seesExtra }) => ({
      scope,
      from: formatInstant(since),
      to: formatInstant(until),
      pages,
      rows,
      missing,
      different,
      extra: seesExtra ? extra : null,
    })),
    ...(error !== undefined && { error }),
  })),
})
