/**
 * Collections → child tables. The children of a written row are replaced as a set: equal ones stay as they are, changed
 * ones are written, ones that left stay behind marked as deleted. A collection that the row doesn't carry is unknown
 * and nothing of it is touched (product contract §4).
 */
import { CHILD_COLUMNS, type ChildTable, type ReportTable, SYSTEM_COLUMNS } from '../../schema/tables.ts'
import type { DiscoveredColumn } from '../plan/columns.ts'
import { CHILD_ID_FIELD } from '../plan/stagedNames.ts'
import type { CatalogField } from '../staging/catalog.ts'
import type { StagedCollection } from '../staging/spool.ts'
import { exactCast } from './casts.ts'
import { CHILD_DELETED_FIELD } from './childFields.ts'
import type { Sql } from './duckdb.ts'
import { closeVersions, type History } from './versions.ts'
import { itemsSql, itemText, itemValue, noItemsSql } from './items.ts'
import { name, names } from './sqlText.ts'

export interface ChildParts {
  readonly table: ReportTable
  readonly child: ChildTable
  readonly field: CatalogField
  /** Column of `staged`: not null where the row says what the collection holds. */
  readonly column: string
  /** The items of the load's rows; undefined when there is none. */
  readonly items: StagedCollection | undefined
  /** Whether `win` replaces any row that is there. */
  readonly replaces: boolean
  readonly discovered: readonly DiscoveredColumn[]
  /** Nothing stays as it was sent. */
  readonly excludePayload: boolean
  readonly loadId: number
  readonly history: History | undefined
}

/** Writes one collection of the rows in `win`; gives how many child rows were written. */
export async function mergeChildren(sql: Sql, parts: ChildParts): Promise<number> {
  const { items, replaces } = parts
  const target = `main.${name(parts.child.name)}`
  if (items === undefined && !replaces) return 0
  const keysAreSure = parts.child.holds === 'one' || items === undefined || items.ids !== 'unsure'
  if (!replaces && keysAreSure) return insertChildren(sql, parts, `(${kidsSql(parts)})`)
  await sql.rowsInOrder(`CREATE OR REPLACE TEMP TABLE kids AS ${kidsSql(parts)}`)
  if (!keysAreSure) await mendKeys(sql)
  if (replaces) await meetHeldChildren(sql, parts, target)
  return insertChildren(sql, parts, 'kids')
}

async function insertChildren(sql: Sql, parts: ChildParts, kids: string): Promise<number> {
  const target = `main.${name(parts.child.name)}`
  const columns = names([...parts.table.key, ...CHILD, ...parts.discovered.map((column) => column.name), ...SYSTEM])
  const [written] = await sql.rowsInOrder<{ Count: number }>(
    `INSERT INTO ${target} (${columns}) SELECT ${freshChildSql(parts)} FROM ${kids} k`,
  )
  return written?.Count ?? 0
}

const CHILD = CHILD_COLUMNS.map((column) => column.name)
const SYSTEM = SYSTEM_COLUMNS.map((column) => column.name)

/** What the items of the load's rows were seen to carry. */
function itemFields(parts: ChildParts): readonly CatalogField[] {
  return parts.field.elements?.fields ?? []
}

/** What fills a child's `_child_key` and `is_deleted`. */
function ownMarks(parts: ChildParts): { readonly id: string; readonly deleted: string } {
  const id = parts.field.elements?.field(CHILD_ID_FIELD)
  const deleted = parts.field.elements?.field(CHILD_DELETED_FIELD)
  return {
    id: id === undefined ? 'NULL::VARCHAR' : itemText(id, 'i'),
    deleted: deleted === undefined ? 'false' : `coalesce(${itemText(deleted, 'i')} = 'true', false)`,
  }
}

/** The rows are held in memory, their items are read through: so it has to be run in the order in which it is written. */
function kidsSql(parts: ChildParts): string {
  const { id, deleted } = ownMarks(parts)
  const items = parts.items === undefined ? noItemsSql(itemFields(parts)) : itemsSql(parts.items, itemFields(parts))
  const key = names(parts.table.key)
  return `
    SELECT s.sid, ${names(parts.table.key, 's')}, s.observed_at, i.*, ${id} AS id_sent,
      coalesce(${id}, i.position::VARCHAR) AS child_key, hash(i.sent, i.position) AS row_hash,
      ${deleted} AS deleted, s.observed_at AS deleted_seen_at
    FROM ${items} i
    JOIN (
      SELECT rowid AS sid, ${key}, "~ordinal" AS ordinal, "~observed_at" AS observed_at
      FROM staged WHERE rowid IN (SELECT sid FROM win)) s ON s.ordinal = i.ordinal`
}

/**
 * `_child_key` is the child's id where it has one that is unique in its collection, else its position. Mostly all
 * children have one, or none has; only where that isn't so the keys are worked out collection by collection.
 */
async function mendKeys(sql: Sql): Promise<void> {
  const [ids] = await sql.rows<{ kids: number; withId: number; doubled: number }>(`
    SELECT count(*) AS kids, count(id_sent) AS "withId",
      count(id_sent) - count(DISTINCT (sid, id_sent)) FILTER (id_sent IS NOT NULL) AS doubled
    FROM kids`)
  if (ids === undefined || ids.withId === 0 || (ids.withId === ids.kids && ids.doubled === 0)) return
  // Where only some have an id of their own, a position must not look like somebody's id.
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE kids AS
    SELECT * EXCLUDE (child_key, own),
      CASE WHEN own THEN id_sent WHEN bool_or(own) OVER (PARTITION BY sid) THEN '#' || position ELSE position::VARCHAR END AS child_key
    FROM (
      SELECT *, coalesce(id_sent IS NOT NULL AND count(*) OVER (PARTITION BY sid, id_sent) = 1, false) AS own
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
    DELETE FROM held h WHERE tid IN (SELECT tid FROM stay) OR (h.deleted AND ${unmatched})`)
  await closeVersions(sql, parts.history, {
    table: parts.child.name,
    key: [...key, '_child_key'],
    rows: 'SELECT tid, observed_at AS until FROM held',
  })
  await sql.run(`
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
  const values = parts.discovered.map((column) => {
    const field = parts.items === undefined ? undefined : parts.field.elements?.field(column.field)
    if (field === undefined) return 'NULL'
    return column.type === 'JSON' ? itemValue(field, 'k') : exactCast(itemText(field, 'k'), column.type, field.kinds)
  })
  return [
    names(parts.table.key, 'k'),
    `k.child_key, k.position, ${parts.excludePayload ? 'NULL' : 'k.sent'}`,
    ...values,
    `k.deleted, CASE WHEN k.deleted THEN 'flag' END, CASE WHEN k.deleted THEN k.deleted_seen_at END`,
    `k.observed_at, ${parts.loadId}::BIGINT, NULL, k.row_hash`,
  ].join(', ')
}
