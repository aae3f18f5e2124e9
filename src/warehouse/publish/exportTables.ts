/** Exports one Parquet file for each range of keys, so that an export writes only the ranges with changed rows. */
import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { assert } from '../../errors.ts'
import { flush } from '../../files.ts'
import type { Declaration } from '../../../schema/report.ts'
import { ENTRY_NUMBER, tableOf } from '../../../schema/tables.ts'
import type { CatalogueTable } from '../database/catalogue.ts'
import { storedPrivacyRules } from '../books/coverage.ts'
import { countOf, type Sql, name, names, text } from '../database/sql.ts'
import type { ExportedFile, ExportedTable } from './exportManifest.ts'

/** A range of this many keys makes a file of several megabytes. */
const WIDTH_MIN = 100_000n
const WIDTH_GROWTH = 10n
/** When the width of key ranges is chosen, a table gets at most this many of them. */
const RANGES_WANTED_MAX = 200
/** Maximum number of key ranges. A table with more gets wider ranges, and all its files are written again. */
const RANGES_MAX = 1_000

export interface ReportExport {
  readonly to: string
  readonly report: Declaration
  readonly generation: number
  readonly catalogue: readonly CatalogueTable[]
  readonly before: ReadonlyMap<string, ExportedTable>
}

interface DividedTable {
  readonly stored: CatalogueTable
  readonly column: string
  /** SQL for the number that decides the range of a row. */
  readonly number: string
  readonly width: bigint
  readonly key: readonly string[]
  /** New privacy rules change values but not load numbers, so fingerprints include the rules. */
  readonly rules: readonly string[]
}

export async function exportReport(sql: Sql, given: ReportExport): Promise<ExportedTable[]> {
  const { name: report, children, key, ...table } = tableOf(given.report)
  const numbers = [...table.asked, ...table.fields].filter(({ type }) => type === 'BIGINT').map((each) => each.name)
  // New records get high numbers, so the files of old records seldom change.
  const numbered = key.findLast((each) => numbers.includes(each) && each !== ENTRY_NUMBER.name)
  // A table without a number in its key is one range.
  const column = numbered ?? key[0] ?? ''
  const number = numbered === undefined ? '0' : name(numbered)
  const known = given.before.get(report)?.partition
  const width = await widthOf(sql, { report, number }, known?.column === column ? BigInt(known.width) : undefined)
  const rules = (await storedPrivacyRules(sql, report)).filter((each) => each !== undefined).toSorted()
  const exported: ExportedTable[] = []
  for (const each of [report, ...children.map((child) => child.name)])
    for (const stored of given.catalogue.filter(({ name: stored }) => stored === each)) {
      const divided = { stored, column, number, width, rules }
      if (stored.schema === 'main') exported.push(await exportTable(sql, given, { ...divided, key }))
      if (stored.schema === 'history')
        exported.push(await exportTable(sql, given, { ...divided, key: [...key, '_valid_from'] }))
    }
  return exported
}

async function widthOf(sql: Sql, { report, number }: { report: string; number: string }, known: bigint | undefined) {
  const ranges = (width: bigint) =>
    countOf(sql, `(SELECT DISTINCT ${rangeStartSql(number, width)} FROM main.${name(report)})`)
  if (known !== undefined && (await ranges(known)) <= RANGES_MAX) return known
  let width = WIDTH_MIN
  while ((await ranges(width)) > RANGES_WANTED_MAX) width *= WIDTH_GROWTH
  return width
}

/** Returns SQL for the first key in the range of a row's key. Keys may be negative. */
function rangeStartSql(number: string, width: bigint): string {
  const key = `${number}::HUGEINT`
  return `(${key} - ((${key} % ${width}) + ${width}) % ${width})`
}

const labelOf = ({ schema, name: table }: CatalogueTable): string => (schema === 'main' ? table : `${schema}.${table}`)

const sourceOf = ({ schema, name: table }: CatalogueTable): string => `${schema}.${name(table)}`

async function exportTable(sql: Sql, given: ReportExport, table: DividedTable): Promise<ExportedTable> {
  const { stored, column, width } = table
  const label = labelOf(stored)
  const known = new Map((given.before.get(label)?.files ?? []).map((file) => [file.keys, file]))
  const files: ExportedFile[] = []
  for (const range of await rangesOf(sql, table)) {
    const same = known.get(range.keys)
    files.push(same?.fingerprint === range.fingerprint ? same : await writeRange(sql, { given, table, range }))
  }
  return {
    name: label,
    report: given.report.name,
    comment: stored.comment,
    columns: stored.columns.map(({ name, type, comment }) => ({ name, type, comment })),
    partition: { column, width: String(width) },
    rows: sum(files.map((file) => file.rows)),
    bytes: sum(files.map((file) => file.bytes)),
    files,
  }
}

interface Range extends Omit<ExportedFile, 'path' | 'bytes'> {
  readonly condition: string
}

/** A table without rows has one range, whose file contains only the columns. */
async function rangesOf(sql: Sql, { stored, number, width, rules }: DividedTable): Promise<Range[]> {
  const layout = [stored.columns.map(({ name, type }) => `${name} ${type}`).join(), ...rules].join('\n')
  // When a version ends, its load number stays. So the fingerprint includes the times of validity.
  const validity = ', count(_valid_to), sum(epoch_us(_valid_from)), sum(epoch_us(_valid_to))'
  const rows = await sql.rows<Record<'first' | 'low' | 'high' | 'state', string> & Pick<Range, 'rows' | 'deleted'>>(`
    SELECT "~low"::VARCHAR AS first, min(${number})::VARCHAR AS low, max(${number})::VARCHAR AS high,
      count(*) AS rows, count(*) FILTER (is_deleted) AS deleted,
      concat_ws('/', count(*), count(*) FILTER (is_deleted), max(_load_id), sum(_load_id), bit_xor(_row_hash)${
        stored.schema === 'history' ? validity : ''
      }) AS state
    FROM (SELECT *, ${rangeStartSql(number, width)} AS "~low" FROM ${sourceOf(stored)})
    GROUP BY "~low" ORDER BY "~low"`)
  const fingerprint = (state: string) => fingerprintOf(`${layout}\n${state}`)
  if (rows.length === 0) return [{ keys: '', rows: 0, deleted: 0, fingerprint: fingerprint(''), condition: 'true' }]
  return rows.map(({ first, low, high, state, rows, deleted }) => ({
    keys: `${first}-${BigInt(first) + width - 1n}`,
    rows,
    deleted,
    fingerprint: fingerprint(state),
    condition: `${number} BETWEEN '${low}'::BIGINT AND '${high}'::BIGINT`,
  }))
}

export const fingerprintOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)

async function writeRange(
  sql: Sql,
  { given, table, range }: { given: ReportExport; table: DividedTable; range: Range },
): Promise<ExportedFile> {
  const { condition, ...described } = range
  const path = `${labelOf(table.stored)}/${range.keys === '' ? 'empty' : range.keys}.${given.generation}.parquet`
  const file = join(given.to, path)
  await mkdir(dirname(file), { recursive: true })
  const [written] = await sql.rows<{ Count: number }>(`
    COPY (SELECT * FROM ${sourceOf(table.stored)} WHERE ${condition} ORDER BY ${names(table.key)})
    TO ${text(file)} (FORMAT parquet, COMPRESSION zstd)`)
  assert(written?.Count === range.rows, `${path} got ${written?.Count} rows of ${range.rows}`)
  return { path, ...described, bytes: await flush(file) }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
