/** `tidemark export`: writes the published copy's tables as files, and prints a summary. */
import path from 'node:path'
import { type ExportResult, exportTo } from '../../warehouse/publish/export.ts'
import { SPILL_FOLDER } from '../../warehouse/publish/exportFolder.ts'
import { counted, table } from '../layout.ts'
import { openPublished } from '../../wiring/published.ts'
import type { Action, CommandOptions } from '../shell.ts'
import { print } from '../commandOutput.ts'
import { namedReports } from '../../operations/reportSelection.ts'
import { onAbort } from '../../signals.ts'

export const exportTables: Action<CommandOptions & { readonly to: string }> = async (shell, options, names) => {
  const { stop, clock, cwd } = shell
  const { config, to } = options
  const reports = namedReports(names)
  const folder = path.resolve(cwd, to)
  await using copy = await openPublished(config, { spillDirectory: path.join(folder, SPILL_FOLDER) })
  using _ = onAbort(stop.signal, () => copy.interrupt())
  const exported = await exportTo(copy, { to: folder, reports, now: clock.now() })
  const { manifest, written, replaced } = exported
  const lines = linesOf(exported)
  const file = `${manifest.generation}: ${path.join(exported.to, 'manifest.json')}`
  const told = replaced
    ? `${counted(written.size, 'file')} written, manifest ${file}`
    : `nothing changed since manifest ${file}`
  return print(shell, options, {
    document: {
      to: exported.to,
      replaced,
      generation: manifest.generation,
      written: written.size,
      last_load_id: manifest.source.last_load_id,
      reports: lines,
    },
    text: (width) =>
      `${table(Object.keys(lines[0] ?? {}), lines.map(Object.values<string | number>), width)}\n${told}\n`,
  })
}

const linesOf = ({ manifest, written }: ExportResult) =>
  manifest.reports.map((report) => {
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

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
