/** Exports one Parquet file for each range of keys, so that an export writes only the ranges with changed rows. */
import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { assert } from '../../errors.ts'
import { flush } from '../../files.ts'
import type { Declaration } from '../../../schema/report.ts'
import { ENTRY_NUMBER, type ReportTable, tableOf } from '../../../schema/tables.ts'
import type { CatalogueTable } from '../database/catalogue.ts'
import { storedPrivacyRules } from '../books/coverage.ts'
import { type Sql, name, names, text } from '../database/sql.ts'
import type { ExportedFile, ExportedTable } from './exportManifest.ts'

/** The file of a range with this many keys has some megabytes. */
const WIDTH_MIN = 100_000n
const WIDTH_GROWTH = 10n
/** The export makes new ranges wider until a table has at most this number of ranges. */
const RANGES_WANTED_MAX = 200
/** If a table has more ranges than this, the export chooses a new width and writes all files of the table again. */
const RANGES_MAX = 1_000

export interface ReportExport {
  readonly to: string
  readonly report: Declaration
  readonly generation: number
  readonly catalogue: readonly CatalogueTable[]
  readonly before: ReadonlyMap<string, ExportedTable>
}

const KEY_MIN = -(2n ** 63n)
const KEY_MAX = 2n ** 63n - 1n

export async function exportReport(sql: Sql, given: ReportExport): Promise<ExportedTable[]> {
  const table = tableOf(given.report)
  const column = rangeColumn(table)
  const known = given.before.get(table.name)?.partition
  const width = await widthOf(sql, { name: table.name, column }, known?.column === column ? known.width : undefined)
  const rules = (await storedPrivacyRules(sql, table.name)).filter((each) => each !== undefined).toSorted()
  const exported: ExportedTable[] = []
  for (const { name: each } of [table, ...table.children]) {
    const own = { name: each, column, width, key: table.key, rules }
    exported.push(await exportTable(sql, given, { ...own, ...MAIN }))
    if (given.catalogue.some(({ schema, name: stored }) => schema === HISTORY.schema && stored === each))
      exported.push(await exportTable(sql, given, { ...own, ...HISTORY, key: [...table.key, '_valid_from'] }))
  }
  return exported
}

const MAIN = { schema: 'main', state: '' } as const
/** When a version ends, its load number does not change. So the fingerprint also contains the times of validity. */
const HISTORY = {
  schema: 'history',
  state: ', count(_valid_to), sum(epoch_us(_valid_from)), sum(epoch_us(_valid_to))',
} as const

const labelOf = ({ schema, name: table }: Pick<OneTable, 'schema' | 'name'>): string =>
  schema === 'main' ? table : `${schema}.${table}`

const sourceOf = ({ schema, name: table }: OneTable): string => `${schema}.${name(table)}`

/** Returns the key column with the record's number. New records have high numbers, so old ranges seldom change. */
function rangeColumn(table: ReportTable): string {
  const numbers = [...table.asked, ...table.fields].filter(({ type }) => type === 'BIGINT').map((column) => column.name)
  const column = table.key.findLast((each) => numbers.includes(each) && each !== ENTRY_NUMBER.name)
  assert(column !== undefined, `${table.name} has no number in its key`)
  return column
}

async function widthOf(
  sql: Sql,
  { name: table, column }: Pick<OneTable, 'name' | 'column'>,
  known: string | undefined,
): Promise<bigint> {
  const ranges = async (width: bigint): Promise<number> => {
    const [row] = await sql.rows<{ n: number }>(
      `SELECT count(DISTINCT ${rangeSql(column, width)}) AS n FROM main.${name(table)}`,
    )
    return row?.n ?? 0
  }
  if (known !== undefined && (await ranges(BigInt(known))) <= RANGES_MAX) return BigInt(known)
  let width = WIDTH_MIN
  while ((await ranges(width)) > RANGES_WANTED_MAX) width *= WIDTH_GROWTH
  return width
}

/** Returns SQL that computes the first key of a row's range. The SQL is also correct for negative keys. */
function rangeSql(column: string, width: bigint): string {
  const key = `${name(column)}::HUGEINT`
  return `(${key} - ((${key} % ${width}) + ${width}) % ${width})`
}

interface OneTable {
  readonly schema: 'main' | 'history'
  readonly name: string
  /** SQL for further values in a range's fingerprint, in addition to load numbers and row hashes. */
  readonly state: string
  readonly column: string
  readonly width: bigint
  readonly key: readonly string[]
  /** A new privacy rule removes values but changes no load number. So fingerprints also contain the privacy rules. */
  readonly rules: readonly string[]
}

async function exportTable(sql: Sql, given: ReportExport, table: OneTable): Promise<ExportedTable> {
  const { catalogue, before, report } = given
  const stored = catalogue.find((each) => each.schema === table.schema && each.name === table.name)
  assert(stored !== undefined, `${table.name} is in no catalogue`)
  const known = new Map((before.get(labelOf(table))?.files ?? []).map((file) => [file.keys, file]))
  const files: ExportedFile[] = []
  for (const range of await rangesOf(sql, table, stored)) {
    const same = known.get(range.keys)
    files.push(same?.fingerprint === range.fingerprint ? same : await writeRange(sql, { given, table, range }))
  }
  return {
    name: labelOf(table),
    report: report.name,
    comment: stored.comment,
    columns: stored.columns.map(({ name, type, comment }) => ({ name, type, comment })),
    partition: { column: table.column, width: String(table.width) },
    rows: sum(files.map((file) => file.rows)),
    bytes: sum(files.map((file) => file.bytes)),
    files,
  }
}

interface Range {
  readonly keys: string
  /** The first key of the range. Undefined for a table without rows, whose single file contains only the columns. */
  readonly first: string | undefined
  readonly rows: number
  readonly deleted: number
  readonly fingerprint: string
}

async function rangesOf(sql: Sql, table: OneTable, stored: CatalogueTable): Promise<Range[]> {
  const layout = [stored.columns.map((column) => `${column.name} ${column.type}`).join(), ...table.rules].join('\n')
  const rows = await sql.rows<{ first: string; rows: number; deleted: number; state: string }>(`
    SELECT "~low"::VARCHAR AS first, count(*) AS rows, count(*) FILTER (is_deleted) AS deleted,
      concat_ws('/', count(*), count(*) FILTER (is_deleted), max(_load_id), sum(_load_id), bit_xor(_row_hash)${table.state}) AS state
    FROM (SELECT *, ${rangeSql(table.column, table.width)} AS "~low" FROM ${sourceOf(table)})
    GROUP BY "~low" ORDER BY "~low"`)
  const fingerprint = (state: string) => fingerprintOf(`${layout}\n${state}`)
  if (rows.length === 0) return [{ keys: '', first: undefined, rows: 0, deleted: 0, fingerprint: fingerprint('') }]
  return rows.map(({ state, ...range }) => ({
    ...range,
    keys: `${range.first}-${BigInt(range.first) + table.width - 1n}`,
    fingerprint: fingerprint(state),
  }))
}

export const fingerprintOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)

async function writeRange(
  sql: Sql,
  { given, table, range }: { given: ReportExport; table: OneTable; range: Range },
): Promise<ExportedFile> {
  const { keys, rows, deleted, fingerprint } = range
  const path = `${labelOf(table)}/${keys === '' ? 'empty' : keys}.${given.generation}.parquet`
  const file = join(given.to, path)
  await mkdir(dirname(file), { recursive: true })
  const inRange =
    range.first === undefined
      ? 'true'
      : `${name(table.column)} BETWEEN ${asKey(BigInt(range.first))} AND ${asKey(BigInt(range.first) + table.width - 1n)}`
  const [written] = await sql.rows<{ Count: number }>(`
    COPY (SELECT * FROM ${sourceOf(table)} WHERE ${inRange} ORDER BY ${names(table.key)})
    TO ${text(file)} (FORMAT parquet, COMPRESSION zstd)`)
  assert(written?.Count === rows, `${path} got ${written?.Count} rows of ${rows}`)
  return { path, keys, rows, deleted, bytes: await flush(file), fingerprint }
}

/** Returns the bound as a BIGINT literal. The first and last range can extend beyond BIGINT, so they are cut. */
const asKey = (bound: bigint): string => `(${bound < KEY_MIN ? KEY_MIN : bound > KEY_MAX ? KEY_MAX : bound})::BIGINT`

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
