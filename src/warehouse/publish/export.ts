/** Writes the published copy as Parquet files. */
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import { flush, replaceFile } from '../../files.ts'
import { formatInstant, type Instant } from '../../instant.ts'
import { catalogueOf } from '../database/catalogue.ts'
import type { Database } from '../database/duckdb.ts'
import { onlyRow, type Sql } from '../database/sql.ts'
import { claimFolder, exportFailed, removeStrays } from './exportFolder.ts'
import { type ExportedTable, filesOf, MANIFEST, type Manifest, readManifest } from './exportManifest.ts'
import { exportReport, fingerprintOf } from './exportTables.ts'
import { stateOf } from './publish.ts'

export interface ExportOrder {
  readonly to: string
  readonly reports: readonly ReportName[]
  readonly now: Instant
}

export interface ExportResult {
  readonly to: string
  readonly manifest: Manifest
  /** False if the folder already contained this state of the copy. */
  readonly replaced: boolean
  readonly written: ReadonlySet<string>
}

/** Exports the published copy. After an error, the previous export stays readable. */
export async function exportTo(database: Database, order: ExportOrder): Promise<ExportResult> {
  const { to } = order
  try {
    await using _claimed = await claimFolder(to)
    const before = await readManifest(to)
    const source = await sourceOf(database)
    if (before !== undefined) checkFits(before, { ...order, source })
    await removeStrays(to, [...filesOf(before), ...(before?.retired ?? [])])
    return await writeExport(database, { ...order, source, before })
  } catch (error) {
    throw exportFailed(to, error)
  }
}

interface ReadyExport extends ExportOrder {
  readonly source: Manifest['source']
  readonly before?: Manifest | undefined
}

async function sourceOf(database: Database): Promise<Manifest['source']> {
  const source = `SELECT (SELECT value FROM tidemark.settings WHERE name = 'number_mark') AS mark,
    (SELECT coalesce(max(load_id), 0) FROM tidemark.loads) AS last_load_id, version() AS duckdb`
  const { mark, ...rest } = await onlyRow<{ mark: string; last_load_id: number; duckdb: string }>(database, source)
  const state = fingerprintOf(await stateOf(database))
  return { warehouse: fingerprintOf(mark), published: database.path, state, ...rest }
}

function checkFits(before: Manifest, { to, source, reports }: ReadyExport): void {
  if (before.source.warehouse !== source.warehouse) {
    throw new SyncError('EXPORT_REFUSED', `${to} holds the export of another warehouse (${before.source.published})`, {
      cure: 'Export to another folder, or empty this one if that warehouse is gone for good. Nothing in it was changed.',
      data: { path: to },
    })
  }
  const left = before.reports.filter((report) => !reports.some((each) => each === report))
  if (left.length === 0) return
  throw new SyncError('EXPORT_REFUSED', `${to} also holds ${left.join(', ')}: one export must replace all its tables`, {
    cure: 'Name these reports too, name none to export all, or export to another folder. Nothing was changed.',
    data: { path: to, reports: left },
  })
}

async function writeExport(database: Database, ready: ReadyExport): Promise<ExportResult> {
  const { to, reports, now, source, before } = ready
  const generation = (before?.generation ?? 0) + 1
  const known = new Map(before?.tables.map((table) => [table.name, table]))
  const catalogue = await catalogueOf(database)
  const tables: ExportedTable[] = []
  for (const report of reports.map(reportOf))
    tables.push(...(await exportReport(database, { to, report, generation, catalogue, before: known })))
  const [old, present] = [new Set(filesOf(before)), new Set(filesOf({ tables }))]
  const written = new Set([...present].filter((path) => !old.has(path)))
  const replaced = [...old].filter((path) => !present.has(path))
  if (before?.source.state === source.state && written.size === 0 && replaced.length === 0)
    return { to, manifest: before, replaced: false, written }
  const manifest: Manifest = {
    format: 'tidemark-export',
    version: 1,
    generation,
    exported_at: formatInstant(now),
    source,
    reports: [...reports],
    marks: await marksOf(database),
    tables,
    // Replaced files are not removed yet, because readers of the old manifest can still open them.
    retired: replaced.length === 0 ? (before?.retired ?? []) : replaced,
  }
  // The names of new files survive a power failure only if their folders are flushed.
  for (const folder of new Set([...written].map((file) => dirname(file)))) await flush(join(to, folder))
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`
  await replaceFile(join(to, MANIFEST), (temporary) => writeFile(temporary, text))
  await removeStrays(to, [...present, ...manifest.retired])
  return { to, manifest, replaced: true, written }
}

/** Audit reports have one mark per record, so only the newest mark is exported. */
async function marksOf(sql: Sql): Promise<Manifest['marks']> {
  const rows = await sql.rows<{ report: string; scope: string; mark: string; value: Instant }>(`
    SELECT report, CASE WHEN mark = 'since' THEN '' ELSE scope END AS scope, mark, epoch_us(max(value)) AS value
    FROM tidemark.marks GROUP BY ALL ORDER BY ALL`)
  return rows.map(({ value, ...mark }) => ({ ...mark, value: formatInstant(value) }))
}
