/**
 * Collections → child tables. The children of a written row are replaced as a set: equal ones stay as they are, changed
 * ones are written, ones that left stay behind marked as deleted. A collection that the row doesn't carry is unknown and
 * nothing of it is touched (product contract §4).
 */
import { CHILD_COLUMNS, type ChildTable, type ReportTable, SYSTEM_COLUMNS } from '../../schema/tables.ts'
import type { DiscoveredColumn } from '../plan/columns.ts'
import { has, Kind, type Kinds } from '../plan/kinds.ts'
import type { CatalogField } from '../staging/catalog.ts'
import { castOf, unmarkedJson, unmarkedText } from './casts.ts'
import type { Sql } from './duckdb.ts'
import { name, names, pointer } from './sqlText.ts'

export interface ChildParts {
  readonly table: ReportTable
  readonly child: ChildTable
  readonly field: CatalogField
  /** Column of `staged` that holds the collection as a list of JSON. */
  readonly column: string
  readonly discovered: readonly DiscoveredColumn[]
  readonly mark: string
  readonly loadId: number
}

/** The fields of a child that fill columns of every child table instead of one of their own. */
export const CHILD_ID_FIELD = 'id'
export const CHILD_DELETED_FIELD = 'isDeleted'

/** Writes one collection of the rows in `win`; gives how many child rows were written. */
export async function mergeChildren(sql: Sql, parts: ChildParts): Promise<number> {
  const target = `main.${name(parts.child.name)}`
  await sql.run(kidsSql(parts))
  await mendKeys(sql, parts)
  const [state] = await sql.rows<{ kids: number; held: number }>(
    `SELECT (SELECT count(*) FROM kids) AS kids, (SELECT count(*) FROM win WHERE replaced IS NOT NULL) AS held`,
  )
  if ((state?.held ?? 0) > 0) await meetHeldChildren(sql, parts, target)
  const columns = names([...parts.table.key, ...CHILD, ...parts.discovered.map((column) => column.name), ...SYSTEM])
  const [written] = await sql.rows<{ written: number }>('SELECT count(*) AS written FROM kids')
  if ((written?.written ?? 0) > 0) {
    await sql.run(`INSERT INTO ${target} (${columns}) SELECT ${freshChildSql(parts)} FROM kids k`)
  }
  return written?.written ?? 0
}

const CHILD = CHILD_COLUMNS.map((column) => column.name)
const SYSTEM = SYSTEM_COLUMNS.map((column) => column.name)

/** Fields of the elements, in the order in which they are extracted from the payload in one go. */
function extracted(parts: ChildParts): readonly CatalogField[] {
  return parts.field.elements?.fields ?? []
}

/** What fills a child's `_child_key` and `is_deleted`, as expressions over its extracted fields. */
function ownMarks(parts: ChildParts): { readonly id: string; readonly deleted: string } {
  const names = extracted(parts).map((field) => field.name)
  const idAt = names.indexOf(CHILD_ID_FIELD) + 1
  const deletedAt = names.indexOf(CHILD_DELETED_FIELD) + 1
  return {
    id: idAt === 0 ? 'NULL::VARCHAR' : unmarkedText(`fields[${idAt}]`, parts.mark),
    deleted: deletedAt === 0 ? 'false' : `coalesce(fields[${deletedAt}] = 'true', false)`,
  }
}

function kidsSql(parts: ChildParts): string {
  const pointers = extracted(parts).map((field) => pointer(field.name))
  const payload = isMarked(parts.field) ? unmarkedJson('sent', parts.mark) : 'sent'
  const values = pointers.length === 0 ? '[]::VARCHAR[]' : `json_extract_string(sent, [${pointers.join(', ')}])`
  const { id, deleted } = ownMarks(parts)
  return `
    CREATE OR REPLACE TEMP TABLE kids AS
    SELECT *, coalesce(${id}, position::VARCHAR) AS child_key, hash(payload::VARCHAR, position) AS row_hash,
      ${deleted} AS deleted, observed_at AS deleted_seen_at
    FROM (
      SELECT *, ${payload} AS payload, ${values} AS fields
      FROM (
        SELECT s.rowid AS sid, ${names(parts.table.key, 's')}, s."~observed_at" AS observed_at,
          generate_subscripts(s.${name(parts.column)}, 1) - 1 AS position, unnest(s.${name(parts.column)}) AS sent
        FROM win w JOIN staged s ON s.rowid = w.sid))`
}

/**
 * `_child_key` is the child's id where it has one that is unique in its collection, else its position. Mostly all
 * children have one, or none has; only where that isn't so the keys are worked out collection by collection.
 */
async function mendKeys(sql: Sql, parts: ChildParts): Promise<void> {
  if (parts.child.holds === 'one') return
  const { id } = ownMarks(parts)
  const [ids] = await sql.rows<{ kids: number; withId: number; doubled: number }>(`
    SELECT count(*) AS kids, count(id) AS "withId", count(id) - count(DISTINCT (sid, id)) FILTER (id IS NOT NULL) AS doubled
    FROM (SELECT sid, ${id} AS id FROM kids)`)
  if (ids === undefined || ids.withId === 0 || (ids.withId === ids.kids && ids.doubled === 0)) return
  // Where only some have an id of their own, a position must not look like somebody's id.
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE kids AS
    SELECT * EXCLUDE (child_key, id, own),
      CASE WHEN own THEN id WHEN bool_or(own) OVER (PARTITION BY sid) THEN '#' || position ELSE position::VARCHAR END AS child_key
    FROM (
      SELECT *, ${id} AS id, coalesce(id IS NOT NULL AND count(*) OVER (PARTITION BY sid, id) = 1, false) AS own
      FROM kids)`)
}

/** Takes out of `kids` what is there already, removes what is replaced, and marks what left as deleted. */
async function meetHeldChildren(sql: Sql, parts: ChildParts, target: string): Promise<void> {
  const key = parts.table.key
  const match = key.map((column) => `c.${name(column)} = s.${name(column)}`).join(' AND ')
  const sameChild = parts.child.holds === 'many' ? 'AND k.child_key = h.child_key' : ''
  const unmatched = `NOT EXISTS (SELECT 1 FROM kids k WHERE k.sid = h.sid ${sameChild})`
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE held AS
    SELECT c.rowid AS tid, s.rowid AS sid, c._child_key AS child_key, c._row_hash AS row_hash, c.is_deleted AS deleted,
      c._deleted_seen_at AS deleted_seen_at, s."~observed_at" AS observed_at
    FROM ${target} c JOIN staged s ON ${match} JOIN win w ON w.sid = s.rowid
    WHERE w.replaced IS NOT NULL AND s.${name(parts.column)} IS NOT NULL;
    CREATE OR REPLACE TEMP TABLE stay AS
    SELECT h.tid, h.sid, h.child_key FROM held h
    JOIN kids k ON k.sid = h.sid AND k.child_key = h.child_key AND k.row_hash = h.row_hash AND k.deleted = h.deleted;
    DELETE FROM kids WHERE (sid, child_key) IN (SELECT (sid, child_key) FROM stay);
    UPDATE kids SET deleted_seen_at = h.deleted_seen_at
    FROM held h WHERE h.sid = kids.sid AND h.child_key = kids.child_key AND h.deleted;
    DELETE FROM held h WHERE tid IN (SELECT tid FROM stay) OR (h.deleted AND ${unmatched});
    CREATE OR REPLACE TEMP TABLE left_over AS
    SELECT c.* REPLACE (true AS is_deleted,
        CASE WHEN c.is_deleted THEN c._delete_evidence ELSE 'absence' END AS _delete_evidence,
        CASE WHEN c.is_deleted THEN c._deleted_seen_at ELSE h.observed_at END AS _deleted_seen_at,
        CASE WHEN c.is_deleted THEN c._load_id ELSE ${parts.loadId}::BIGINT END AS _load_id)
    FROM held h JOIN ${target} c ON c.rowid = h.tid
    WHERE ${unmatched};
    DELETE FROM ${target} WHERE rowid IN (SELECT tid FROM held);
    INSERT INTO ${target} BY NAME SELECT * FROM left_over`)
}

function freshChildSql(parts: ChildParts): string {
  const fields = extracted(parts)
  const values = parts.discovered.map((column) => {
    const at = fields.findIndex((field) => field.name === column.field)
    const field = fields[at]
    return field === undefined ? 'NULL' : childValue(column, { at: at + 1, kinds: field.kinds, mark: parts.mark })
  })
  return [
    names(parts.table.key, 'k'),
    'k.child_key, k.position, k.payload',
    ...values,
    `k.deleted, CASE WHEN k.deleted THEN 'flag' END, CASE WHEN k.deleted THEN k.deleted_seen_at END`,
    `k.observed_at, ${parts.loadId}::BIGINT, NULL, k.row_hash`,
  ].join(', ')
}

function childValue(column: DiscoveredColumn, field: { at: number; kinds: Kinds; mark: string }): string {
  if (column.type === 'JSON') {
    const nested = `k.sent -> ${pointer(column.field)}`
    return has(field.kinds, Kind.marked) ? unmarkedJson(nested, field.mark) : nested
  }
  const raw = `k.fields[${field.at}]`
  const value = has(field.kinds, Kind.marked) ? unmarkedText(raw, field.mark) : raw
  return castOf(value, column.type, field.kinds)
}

function isMarked(field: CatalogField): boolean {
  const inElements = field.elements?.fields.some((each) => has(each.kinds, Kind.marked)) ?? false
  return inElements || has(field.kinds | field.elementKinds, Kind.marked)
}
