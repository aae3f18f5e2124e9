/**
 * Writes the published copy as Parquet files (`tidemark export`). Replaced files are kept until another export replaces
 * files, because readers of the previous manifest can still open them.
 */
import { resolve } from 'node:path'
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import { formatInstant, type Instant } from '../../instant.ts'
import { catalogueOf } from '../database/catalogue.ts'
import type { Database } from '../database/duckdb.ts'
import type { Sql } from '../database/sql.ts'
import { claimFolder, exportFailed, removeStrays, replaceManifest, syncFolders } from './exportFolder.ts'
import {
  type ExportedTable,
  filesOf,
  type Manifest,
  type ManifestBody,
  manifestText,
  readManifest,
} from './exportManifest.ts'
import { exportReport, fingerprintOf } from './exportTables.ts'
import { stateOf } from './publish.ts'

export interface ExportOrder {
  readonly to: string
  readonly reports: readonly ReportName[]
  readonly now: Instant
}

export interface ExportResult {
  readonly to: string
  readonly manifest: ManifestBody
  /** False if the folder already contained this state of the copy. Then no file was written. */
  readonly replaced: boolean
  readonly written: ReadonlySet<string>
}

/** Exports the published copy. After EXPORT_REFUSED, EXPORT_FAILED or DISK_FULL, the previous export stays readable. */
export async function exportTo(database: Database, order: ExportOrder): Promise<ExportResult> {
  const to = resolve(order.to)
  await using _claimed = await claimFolder(to)
  const before = await readManifest(to)
  try {
    const source = await sourceOf(database)
    checkFits(to, before, { source, reports: order.reports })
    await removeStrays(to, new Set(before === undefined ? [] : [...filesOf(before), ...before.retired]))
    return await writeExport(database, { order: { ...order, to }, before, source })
  } catch (error) {
    throw exportFailed(to, error)
  }
}

type Source = Manifest['source']

async function sourceOf(database: Database): Promise<Source> {
  const [row] = await database.rows<{ mark: string; loads: number | null; version: string }>(`
    SELECT (SELECT value FROM tidemark.settings WHERE name = 'number_mark') AS mark,
      (SELECT max(load_id) FROM tidemark.loads) AS loads, version() AS version`)
  return {
    warehouse: fingerprintOf(row?.mark ?? ''),
    published: database.path,
    state: fingerprintOf(await stateOf(database)),
    last_load_id: row?.loads ?? 0,
    duckdb: row?.version ?? '',
  }
}

function checkFits(
  to: string,
  before: Manifest | undefined,
  { source, reports }: { source: Source; reports: readonly string[] },
): void {
  if (before === undefined) return
  if (before.source.warehouse !== source.warehouse) {
    throw new SyncError('EXPORT_REFUSED', `${to} holds the export of another warehouse (${before.source.published})`, {
      cure: 'Export to another folder, or empty this one if that warehouse is gone for good. Nothing in it was changed.',
      data: { path: to },
    })
  }
  const left = before.reports.filter((report) => !reports.includes(report))
  if (left.length === 0) return
  throw new SyncError('EXPORT_REFUSED', `${to} also holds ${left.join(', ')}: one export must replace all its tables`, {
    cure: 'Name these reports too, name none to export all, or export to another folder. Nothing was changed.',
    data: { path: to, reports: left },
  })
}

async function writeExport(
  database: Database,
  { order, before, source }: { order: ExportOrder; before: Manifest | undefined; source: Source },
): Promise<ExportResult> {
  const { to } = order
  const generation = (before?.generation ?? 0) + 1
  const known = new Map((before?.tables ?? []).map((table) => [table.name, table]))
  const catalogue = await catalogueOf(database)
  const tables: ExportedTable[] = []
  for (const report of order.reports) {
    tables.push(
      ...(await exportReport(database, { to, report: reportOf(report), generation, catalogue, before: known })),
    )
  }
  const names = new Set(filesOf({ tables }))
  const old = before === undefined ? [] : filesOf(before)
  const taken = new Set(old)
  const written = new Set([...names].filter((path) => !taken.has(path)))
  const replacedFiles = old.filter((path) => !names.has(path))
  // Readers of the old manifest can still open the replaced files, so these files are kept.
  const retired = replacedFiles.length === 0 ? (before?.retired ?? []) : replacedFiles
  const manifest: ManifestBody = {
    generation,
    exported_at: formatInstant(order.now),
    source,
    reports: [...order.reports],
    marks: await marksOf(database),
    tables,
    retired,
  }
  if (before?.source.state === source.state && written.size === 0 && replacedFiles.length === 0) {
    return { to, manifest: before, replaced: false, written }
  }
  await syncFolders(to, written)
  await replaceManifest(to, manifestText(manifest))
  await removeStrays(to, new Set([...names, ...retired]))
  return { to, manifest, replaced: true, written }
}

/** An audit report has a mark for each record, so only its newest mark is returned. */
async function marksOf(sql: Sql): Promise<Manifest['marks']> {
  const rows = await sql.rows<{ report: string; scope: string; mark: string; value: Instant }>(`
    SELECT report, CASE WHEN mark = 'since' THEN '' ELSE scope END AS scope, mark, epoch_us(max(value)) AS value
    FROM tidemark.marks GROUP BY ALL ORDER BY ALL`)
  return rows.map(({ value, ...mark }) => ({ ...mark, value: formatInstant(value) }))
}
