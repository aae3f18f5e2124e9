/** `tidemark export`: writes the published copy's tables as files, and prints a summary. */
import path from 'node:path'
import { reportNames } from '../../../schema/index.ts'
import { type ExportResult, exportTo } from '../../warehouse/publish/export.ts'
import { SPILL } from '../../warehouse/publish/exportFolder.ts'
import { type Column, counted, grouped, table } from '../layout.ts'
import { openPublished } from '../../wiring/published.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { type CommandOptions, print } from '../commandOutput.ts'
import { requireReportNames } from '../reportSelection.ts'
import { onAbort } from '../../signals.ts'

export interface ExportOptions extends CommandOptions {
  readonly to: string
}

export async function exportTables(
  shell: Shell,
  names: readonly string[],
  { config, to, json = false }: ExportOptions,
): Promise<ExitCode> {
  const { stop, clock, cwd } = shell
  const named = requireReportNames(names)
  const reports = reportNames.filter((report) => named.length === 0 || named.includes(report))
  const folder = path.resolve(cwd, to)
  await using copy = await openPublished(config, { spillDirectory: path.join(folder, SPILL) })
  using _ = onAbort(stop.signal, () => copy.interrupt())
  const exported = await exportTo(copy, { to: folder, reports, now: clock.now() })
  return print(
    shell,
    { json },
    { failed: false, document: () => documentOf(exported), text: () => summaryOf(exported) },
  )
}

function linesOf({ manifest, written }: ExportResult) {
  return manifest.reports.map((report) => {
    const tables = manifest.tables.filter((each) => each.report === report)
    const files = tables.flatMap((each) => each.files)
    return {
      report,
      tables: tables.length,
      rows: sum(tables.map((each) => each.rows)),
      files: files.length,
      written: files.filter((each) => written.has(each.path)).length,
      bytes: sum(tables.map((each) => each.bytes)),
    }
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

const FIGURES = ['tables', 'rows', 'files', 'written', 'bytes'] as const
const COLUMNS: readonly Column[] = [{ head: 'report' }, ...FIGURES.map((head): Column => ({ head, align: 'right' }))]

function summaryOf(exported: ExportResult): string {
  const { to, manifest, replaced, written } = exported
  const rows = linesOf(exported).map((each) => [each.report, ...FIGURES.map((figure) => grouped(each[figure]))])
  const told = replaced
    ? `${counted(written.size, 'file')} written, manifest ${manifest.generation}: ${path.join(to, 'manifest.json')}`
    : `nothing changed since manifest ${manifest.generation}: ${path.join(to, 'manifest.json')}`
  return `${table(COLUMNS, rows)}\n${told}\n`
}

function documentOf(exported: ExportResult): object {
  const { to, manifest, replaced, written } = exported
  return {
    to,
    replaced,
    generation: manifest.generation,
    written: written.size,
    last_load_id: manifest.source.last_load_id,
    reports: linesOf(exported),
  }
}
