/** Reads staged lines into the temporary table `staged`. */
import { createHash } from 'node:crypto'
import type { ReportTable } from '../../../schema/tables.ts'
import { asSyncError, assert, SyncError } from '../../errors.ts'
import { typeFor } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import { ROWS_A_PAGE } from '../../plan/stagedNames.ts'
import type { CatalogField } from '../../staging/catalog.ts'
import type { Segment, StagedCollection } from '../../staging/spool.ts'
import { countOf, type Sql, name, names, pointer, text, time } from '../database/sql.ts'
import { FieldSql, unknownField } from './fieldSql.ts'
import { CHILD_DELETED_FIELD, itemsSql, itemText } from './items.ts'
import type { FileLoad, StagedFields, StagedRows } from './loadSteps.ts'
import { splitDuplicates } from './rowVersion.ts'

/** A larger `maximum_object_size` needs more memory, because each thread reserves it twice. */
const OBJECT_BYTES_MIN = 1024 * 1024

/** Returns the query that reads the staged rows. Run it with `rowsInOrder`. */
export async function readRows(sql: Sql, load: FileLoad): Promise<StagedFields & { readonly sql: string }> {
  const { table, segment, files, rules } = load
  const reading = new FieldSql(load)
  const columns = reading.columns()
  const misfits = reading.misfits()
  const collections = table.children.flatMap((child, n) => {
    const field = segment.catalog.field(child.field)
    const items = segment.collections.find((each) => each.field === child.field)
    return field === undefined ? [] : [{ child, field, column: `~collection ${n}`, items }]
  })
  await sql.run(pagesSql(table, segment))
  const rows = `
    SELECT
      r."#" AS "~ordinal", r."$" AS "~shape", p.observed_at AS "~observed_at", p.asked_at AS "~asked_at",
      ${table.asked.map((column) => `p.${name(column.name)},`).join(' ')}
      ${columns.map((column) => `${column.value} AS ${name(column.name)},`).join('\n      ')}
      ${collections.map(({ field, column }) => `${reading.collection(field)} AS ${name(column)},`).join('\n      ')}
      ${reading.deletedFlag()} AS "~deleted",
      ${rules.excludePayload ? 'NULL::JSON' : reading.extra()} AS "~extra",
      ${reading.rowHash(shapeHash(segment.catalog.shapes))} AS "~row_hash",
      ${reading.rejectReason()} AS "~reason",
      ${misfits ?? 'NULL'} AS "~misfits"
    FROM read_json([${files.map(text).join(', ')}], format = 'newline_delimited', columns = ${reading.readerColumns()},
      maximum_object_size = ${Math.max(OBJECT_BYTES_MIN, segment.rowBytesMax + 1024)}) r
    JOIN staged_pages p ON p.page = r."#" // ${ROWS_A_PAGE}`
  const carries = (field: string): string => {
    const found = segment.catalog.field(field)
    return found === undefined ? 'false' : reading.carried([found])
  }
  return { columns, collections, sql: rows, mayMisfit: misfits !== undefined, carries }
}

/** Fills the table `staged` and, if rows are rejected, the table `staged_rejected`. */
export async function stage(sql: Sql, load: FileLoad): Promise<StagedRows> {
  const { report, table, segment, rules } = load
  const { sql: rowsSql, ...reading } = await readRows(sql, load)
  await sql.rowsInOrder(`CREATE OR REPLACE TEMP TABLE staged AS ${rowsSql}`)
  if (rules.contract === 'reject') await rejectItems(sql, load)
  const isKeyed = report.perRecord === undefined
  const keys = isKeyed ? `count(DISTINCT (${names(table.key)})) FILTER ("~reason" IS NULL)` : 'NULL'
  const [counted] = await sql.rows<{ rows: number; rejected: number; keys: number | null }>(
    `SELECT count(*) AS rows, count("~reason") AS rejected, ${keys} AS keys FROM staged`,
  )
  assert(counted?.rows === segment.rows, `${counted?.rows} rows were read of ${segment.rows} that were staged`)
  const { rejected: stagedRejected } = counted
  const rejected = stagedRejected + segment.rejected.length === 0 ? 0 : await moveRejected(sql, load, stagedRejected)
  const stored = segment.rows - stagedRejected
  const isUnique = !isKeyed || counted.keys === stored
  const earlier = isUnique ? [] : await splitDuplicates(sql, load, reading.columns)
  return { ...reading, rejected, rows: isUnique ? stored : await countOf(sql, 'staged'), earlier }
}

async function rejectItems(sql: Sql, { table, segment, discovered }: FileLoad): Promise<void> {
  for (const items of segment.collections) {
    const child = table.children.find((each) => each.field === items.field)
    const fields = segment.catalog.field(items.field)?.elements?.fields ?? []
    const columns = new Set(discovered(child?.name ?? '').map((column) => column.field))
    const unknown = fields.filter((field) => needsColumn(field) && !columns.has(field.name))
    if (unknown.length === 0) continue
    const reasons = unknown.map((field) => `WHEN ${itemText(field, 'i')} IS NOT NULL THEN ${unknownField(field)}`)
    await sql.run(`
      UPDATE staged SET "~reason" = ${text(`${items.field}: `)} || b.reason
      FROM (SELECT i.ordinal, any_value(CASE ${reasons.join(' ')} END) AS reason FROM ${itemsSql([items], fields)} i GROUP BY ALL) b
      WHERE b.ordinal = staged."~ordinal" AND staged."~reason" IS NULL AND b.reason IS NOT NULL`)
  }
}

const needsColumn = (field: CatalogField): boolean =>
  (field.name !== CHILD_DELETED_FIELD || has(field.kinds, NESTED)) && typeFor(field.kinds, 'column') !== undefined

function pagesSql(table: ReportTable, segment: Segment): string {
  const asked = table.asked.map((column) => `, ${name(column.name)} ${column.type}`).join('')
  const values = segment.pages.map((page) => {
    const given = table.asked.map((column) => {
      const value = page.asked[column.name]
      return typeof value === 'number' ? `, ${value}` : `, ${text(value ?? '')}`
    })
    return `(${page.index}, ${time(page.observedAt)}, ${time(page.askedAt)}${given.join('')})`
  })
  return `
    CREATE OR REPLACE TEMP TABLE staged_pages (page BIGINT, observed_at TIMESTAMPTZ, asked_at TIMESTAMPTZ${asked});
    ${values.length === 0 ? '' : `INSERT INTO staged_pages VALUES ${values.join(', ')};`}`
}

function shapeHash(shapes: readonly (readonly string[])[]): string {
  const hashes = shapes.map((shape) => {
    const digest = createHash('sha256').update(JSON.stringify(shape.toSorted())).digest()
    return digest.readBigUInt64LE().toString()
  })
  return `([${hashes.join(', ')}]::UBIGINT[])[r."$" + 1]`
}

/** Moves rejected rows to `staged_rejected`, and returns the number of distinct rows. */
async function moveRejected(sql: Sql, { segment, numberPrefix }: FileLoad, stagedRejected: number): Promise<number> {
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE staged_rejected AS
    SELECT "~ordinal" AS ordinal, "~reason" AS reason, NULL::VARCHAR AS row FROM staged WHERE "~reason" IS NOT NULL`)
  if (stagedRejected > 0) {
    await sql.run(`
      CREATE OR REPLACE TEMP TABLE staged_rejected AS
      SELECT f.ordinal, f.reason, regexp_replace(l.line, '^\\{"#":[0-9]+,"[$]":[0-9]+,?', '{') AS row
      FROM staged_rejected f
      JOIN (SELECT line, regexp_extract(line, '^\\{"#":([0-9]+)', 1)::BIGINT AS ordinal
            FROM read_csv(${text(segment.file)}, columns = {line: 'VARCHAR'}, delim = ${text('\u0001')}, quote = '', escape = '',
              header = false, auto_detect = false, max_line_size = ${2 * segment.rowBytesMax + 1_000_000})) l
        USING (ordinal);
      ${segment.collections.map((items) => restoreItemsSql(items, segment)).join('')}
      UPDATE staged_rejected SET row = regexp_replace(row, ${text(`"${numberPrefix}(-?[0-9.eE+-]+)"`)}, '\\1', 'g');
      DELETE FROM staged WHERE "~reason" IS NOT NULL`)
  }
  for (const { pageIndex, reason, text: row } of segment.rejected) {
    await sql.run('INSERT INTO staged_rejected VALUES ($1, $2, $3)', [pageIndex * ROWS_A_PAGE, reason, row])
  }
  return countOf(sql, '(SELECT DISTINCT row FROM staged_rejected)')
}

function restoreItemsSql(items: StagedCollection, { catalog }: Segment): string {
  const field = catalog.field(items.field)
  const at = pointer(field?.stagedName ?? items.field)
  return `
    CREATE OR REPLACE TEMP TABLE staged_rejected AS
    SELECT f.ordinal, f.reason, CASE WHEN i.sent IS NULL THEN f.row
      ELSE replace(f.row, json_extract(f.row, ${at})::VARCHAR, CASE json_type(f.row, ${at}) WHEN 'ARRAY' THEN '[' || i.sent || ']' ELSE i.sent END)
      END AS row
    FROM staged_rejected f LEFT JOIN (
      SELECT ordinal, string_agg(sent, ',' ORDER BY position) AS sent FROM ${itemsSql([items], field?.elements?.fields)}
      WHERE ordinal IN (SELECT ordinal FROM staged_rejected) GROUP BY ordinal) i USING (ordinal);`
}

export const throwAsLoadRefused =
  ({ report, segment }: FileLoad) =>
  (error: unknown): never => {
    const known = asSyncError(error)
    if (known.code !== 'UNEXPECTED') throw known
    const what = `the rows of ${report.name} could not be read into the warehouse: ${known.message}`
    throw new SyncError('LOAD_REFUSED', what, {
      report: report.name,
      cure: 'This load stored nothing. Run it again with a smaller page_size to find the row, and report the error with this message.',
      data: { rows: segment.rows, bytes: segment.bytes, pages: segment.pages.length },
      cause: error,
    })
  }
