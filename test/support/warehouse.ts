/** A real warehouse for one test, and functions that load rows in the same steps as a run. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Declaration } from '../../schema/index.ts'
import { wireKey } from '../../schema/tables.ts'
import { type Instant, parseInstant } from '../../src/instant.ts'
import { catalogOf } from '../../src/staging/catalog.ts'
import { scanPage } from '../../src/staging/scanPage.ts'
import { type Segment, Spool, type StagedPage } from '../../src/staging/spool.ts'
import type { ClosedWindow } from '../../src/warehouse/books/windows.ts'
import type { LoadInput, LoadResult } from '../../src/warehouse/load/loadInput.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { copyWarehouse } from './templates.ts'

export const NOON = at('2026-03-01T12:00:00Z')

export function at(text: string): Instant {
  const instant = parseInstant(text)
  if (instant === undefined) throw new TypeError(`${text} is no time`)
  return instant
}

export interface OpenWarehouse extends AsyncDisposable {
  readonly warehouse: Warehouse
  readonly folder: string
  readonly path: string
}

/** Creates a folder, which is removed after the test. */
export async function aFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-warehouse-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

export const openAt = (path: string): Promise<Warehouse> => Warehouse.open({ path, memory: '512MB', threads: 1 })

/** Creates a warehouse. `ownIdentity` is for tests that compare identities of warehouses. */
export async function aWarehouse({ ownIdentity = false } = {}): Promise<OpenWarehouse> {
  const folder = await aFolder()
  const path = join(folder.path, 'warehouse.duckdb')
  if (!ownIdentity) await copyWarehouse(path)
  const warehouse = await openAt(path)
  return {
    warehouse,
    folder: folder.path,
    path,
    [Symbol.asyncDispose]: async () => {
      await warehouse.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** Without a kind, the load is of kind `changes`. */
type GivenLoad<L extends LoadInput> = L extends LoadInput
  ? Partial<Omit<L, 'report' | 'segment' | 'kind'>> &
      (L['kind'] extends 'changes' ? { readonly kind?: L['kind'] } : Pick<L, 'kind'>)
  : never

export type Given = GivenLoad<LoadInput> & {
  readonly observedAt?: string | Instant
  /** The currency, or the audited record. */
  readonly asked?: StagedPage['asked']
}

/** Returns a window that a load can close. */
export const aClosedWindow = (more: Partial<ClosedWindow> = {}): ClosedWindow => ({
  scope: '',
  since: undefined,
  until: NOON,
  proof: 'single',
  pages: 1,
  rows: 1,
  totalCount: undefined,
  marks: [],
  ...more,
})

/** Values, or the JSON text of an array of rows. */
export type Rows = string | readonly unknown[]

export interface GivenPage {
  readonly rows: Rows
  readonly observedAt?: string | Instant
  /** Default: `observedAt`. */
  readonly askedAt?: Instant
  readonly asked?: StagedPage['asked']
}

/** Returns the page as the service would send it. */
export function pageBytes(report: Pick<Declaration, 'answer'>, rows: Rows): Buffer {
  const items = typeof rows === 'string' ? rows : JSON.stringify(rows)
  if (report.answer === 'array') return Buffer.from(items)
  return Buffer.from(`{"items":${items},"pageNumber":1,"pageSize":500,"totalCount":1}`)
}

let spools = 0

/** Scans and spools pages as one segment. */
export async function segmentOf(
  { warehouse, folder }: OpenWarehouse,
  report: Declaration,
  pages: readonly GivenPage[],
  catalog = catalogOf(report),
): Promise<Segment | undefined> {
  spools += 1
  const spool = new Spool(join(folder, `spool-${spools}`), catalog, { loadRowsMax: 1e6, loadBytesMax: 1e9 })
  const plan = { answer: report.answer, key: wireKey(report), catalog, numberPrefix: warehouse.numberPrefix }
  for (const { rows, observedAt = NOON, askedAt, asked = askedFor(report) } of pages) {
    const observed = typeof observedAt === 'string' ? at(observedAt) : observedAt
    const times = { observedAt: observed, askedAt: askedAt ?? observed }
    await spool.add(scanPage(pageBytes(report, rows), plan), times, asked)
  }
  return (await spool.takeRest())[0]
}

export async function loadPages(
  opened: OpenWarehouse,
  report: Declaration,
  { pages, given = {} }: { pages: readonly GivenPage[]; given?: Given },
): Promise<LoadResult> {
  const segment = await segmentOf(opened, report, pages)
  const { observedAt: _, asked: _asked, ...input } = given
  const ofAudit = input.kind === 'audit' ? { entryWindows: [], audited: [] } : {}
  const load = { kind: 'changes', report, runId: 'run-1', now: NOON, closes: [], segment, ...ofAudit, ...input }
  return opened.warehouse.load(load as LoadInput)
}

export function loadRows(
  opened: OpenWarehouse,
  report: Declaration,
  ...[rows, given = {}]: [rows: Rows, given?: Given]
): Promise<LoadResult> {
  const { observedAt, asked } = given
  const page = {
    rows,
    ...(observedAt === undefined ? {} : { observedAt }),
    ...(asked === undefined ? {} : { asked }),
  }
  return loadPages(opened, report, { pages: [page], given })
}

/** Returns a page on which each row with `odd: 'twice'` is rejected. */
export const withOdd = (rows: readonly unknown[]): string => JSON.stringify(rows).replaceAll('"odd":"twice"', ODD)
export const ODD = '"odd":1,"odd":2'

/** Returns all values as text, so that JavaScript does not round numbers. */
export async function texts(
  { warehouse }: OpenWarehouse,
  table: string,
  { columns, where = 'true' }: { columns?: readonly string[]; where?: string } = {},
): Promise<Record<string, string | null>[]> {
  const chosen =
    columns === undefined ? 'COLUMNS(*)::VARCHAR' : columns.map((each) => `"${each}"::VARCHAR AS "${each}"`).join(', ')
  return warehouse.rows(`SELECT ${chosen} FROM ${table} WHERE ${where} ORDER BY ALL`)
}

const askedFor = (report: Declaration): StagedPage['asked'] =>
  Object.fromEntries(report.asked.map(({ column, type }) => [column, type === 'string' ? 'EUR' : 1]))
